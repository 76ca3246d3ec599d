{{- define "gvList" -}}
<!-- Generated from the comments in api/ by make docs. DO NOT EDIT. -->
# API reference
{{ range . }}
{{- $gv := . }}
apiVersion `{{ .GroupVersionString }}`. What people write and read:
{{ range .SortedKinds }}
- {{ $gv.TypeForKind . | markdownRenderTypeLink }}
{{- end }}

A field marked \* is required. Durations are written as `90s`, `15m` or `2h`,
quantities as `512Mi` or `20Gi`. Rules that span fields are checked when an object is
applied, and their messages say what to do; what conditions mean is in
[conditions.md](conditions.md).
{{ range .SortedTypes }}{{ if .GVK }}{{ template "type" . }}{{ end }}{{ end -}}
{{ range .SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end -}}
{{ end -}}
{{ end -}}

{{- define "type" -}}
{{- if markdownShouldRenderType . }}
## {{ .Name }}

{{ .Doc }}
{{- if .SortedReferences }}

In:{{ range $i, $_ := .SortedReferences }}{{ if $i }},{{ end }} {{ markdownRenderTypeLink . }}{{ end }}.
{{- end }}
{{ if .Members }}
| Field | Meaning | Limits |
| --- | --- | --- |
{{ if .GVK -}}
| `apiVersion` _string_ | `{{ .GVK.Group }}/{{ .GVK.Version }}` | |
| `kind` _string_ | `{{ .GVK.Kind }}` | |
{{ end -}}
{{ range .Members -}}
| `{{ .Name }}`{{ template "required" . }} _{{ markdownRenderType .Type | replace "integer array" "bytes, in base64" }}_ | {{ template "doc" . }} | {{ template "limits" . }}|
{{ end -}}
{{ end -}}
{{ if .EnumValues }}
| Value | Meaning |
| --- | --- |
{{ range .EnumValues -}}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc | replace "<br />" " " }} |
{{ end -}}
{{ end -}}
{{ end -}}
{{ end -}}

{{- define "required" -}}
{{- range .Validation }}{{ if hasPrefix "Required" . }}\*{{ end }}{{ end -}}
{{- end -}}

{{- define "doc" -}}
{{- if eq .Name "metadata" -}}
Name, namespace, labels and annotations, as for every object of Kubernetes.
{{- else -}}
{{ markdownRenderFieldDoc .Doc | replace "<br />" " " }}
{{- end -}}
{{- end -}}

{{- define "limits" -}}
{{- range .Validation }}{{ if not (or (hasPrefix "Required" .) (hasPrefix "Optional" .) (hasPrefix "Type:" .) (hasPrefix "XIntOrString" .)) }}{{ . | replace "|" "\\|" }}<br />{{ end }}{{ end -}}
{{- end -}}
