{{/* The chart's name, or what replaces it. */}}
{{- define "storagebench.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Common start of the objects' names: release and chart, said once if they are the same. */}}
{{- define "storagebench.fullname" -}}
{{- $name := include "storagebench.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "storagebench.manager" -}}
{{ include "storagebench.fullname" . }}-manager
{{- end }}

{{- define "storagebench.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "storagebench.manager" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* A Deployment's selector cannot be changed: nothing that an upgrade changes may stand here. */}}
{{- define "storagebench.selector" -}}
app.kubernetes.io/name: {{ include "storagebench.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end }}

{{/*
managed-by must not be "storagebench": that is how the operator knows the Pods,
Jobs and Leases that it made itself.
*/}}
{{- define "storagebench.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "storagebench.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The operator's image, with its digest if there is one. */}}
{{- define "storagebench.image" -}}
{{- $image := printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- with .Values.image.digest }}{{ $image = printf "%s@%s" $image . }}{{ end }}
{{- $image }}
{{- end }}

{{/*
The workers' image. A release before 0.3 has no workerImage in its values, and may have the
whole reference in worker.image.
*/}}
{{- define "storagebench.workerImage" -}}
{{- $values := .Values.workerImage | default dict }}
{{- $repository := default (printf "%s-worker" .Values.image.repository) $values.repository }}
{{- $image := printf "%s:%s" $repository (default (default .Chart.AppVersion .Values.image.tag) $values.tag) }}
{{- with $values.digest }}{{ $image = printf "%s@%s" $image . }}{{ end }}
{{- default $image .Values.worker.image }}
{{- end }}

{{/*
The namespace of restore Jobs. It must be privileged, and is for nothing else: neither the
operator nor a benchmark may run where such a Job may.
*/}}
{{- define "storagebench.restoreNamespace" -}}
{{- $name := default (printf "%s-restore" (.Release.Namespace | trunc 55 | trimSuffix "-")) .Values.restore.namespace }}
{{- if or (eq $name .Release.Namespace) (has $name .Values.namespaces) }}
{{- fail (printf "restore.namespace is %q, where the operator or benchmarks run; restore Jobs are privileged, so set it to a namespace that nothing else uses" $name) }}
{{- end }}
{{- $name }}
{{- end }}

{{/* What a release made with an older chart has no values for is off. */}}
{{- define "storagebench.minioEnabled" -}}
{{- if (.Values.minio | default dict).enabled }}yes{{ end }}
{{- end }}

{{- define "storagebench.minio" -}}
{{ include "storagebench.fullname" . }}-minio
{{- end }}

{{/* The Secret with the key of the chart's own MinIO */}}
{{- define "storagebench.minioSecret" -}}
{{ .Values.minio.existingSecret | default (include "storagebench.minio" .) }}
{{- end }}

{{- define "storagebench.minioSelector" -}}
app.kubernetes.io/name: {{ include "storagebench.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: minio
{{- end }}

{{- define "storagebench.minioLabels" -}}
{{ include "storagebench.labels" . | fromYaml | merge (dict "app.kubernetes.io/component" "minio") | toYaml }}
{{- end }}

{{/*
The TCP ports of stores, as a JSON list: those given, that of resultStore.endpoint, and
MinIO's. No port at all means that any is allowed.
*/}}
{{- define "storagebench.storePorts" -}}
{{- $ports := list }}
{{- if .ports }}
{{- if .root.Values.resultStore.create }}
{{- $endpoint := .root.Values.resultStore.endpoint }}
{{- $port := ternary 443 80 (hasPrefix "https:" $endpoint) }}
{{- with regexFind ":[0-9]+$" (urlParse $endpoint).host }}{{ $port = trimPrefix ":" . | int }}{{ end }}
{{- $ports = append $ports $port }}
{{- end }}
{{- if include "storagebench.minioEnabled" .root }}{{ $ports = append $ports 9000 }}{{ end }}
{{- range .ports }}{{ $ports = append $ports (int .) }}{{ end }}
{{- end }}
{{- uniq $ports | toJson }}
{{- end }}

{{/* Rules of a NetworkPolicy: name servers, and these ports; or anywhere, if there are none. */}}
{{- define "storagebench.egress" -}}
{{- if . }}
- ports: # names; 5353 is OpenShift's
  - {protocol: UDP, port: 53}
  - {protocol: TCP, port: 53}
  - {protocol: UDP, port: 5353}
  - {protocol: TCP, port: 5353}
- ports:
  {{- range . }}
  - {protocol: TCP, port: {{ int . }}}
  {{- end }}
{{- else }}
- {}
{{- end }}
{{- end }}
