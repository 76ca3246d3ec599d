package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"strings"
)

// uPlotVersion is the version of the charting library in uplot/.
const uPlotVersion = "1.6.32"

//go:embed page.html page.css page.js uplot/uPlot.iife.min.js uplot/uPlot.min.css uplot/LICENSE
var files embed.FS

func asset(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// assets are the scripts and styles of a page.
type assets struct {
	PlotCSS, PageCSS template.CSS
	PlotJS, PageJS   template.JS
	// Policy is the Content-Security-Policy: nothing but these scripts and styles.
	Policy string
}

func newAssets() assets {
	a := assets{
		PlotCSS: template.CSS(asset("uplot/uPlot.min.css")),                                   //nolint:gosec // ours, embedded
		PageCSS: template.CSS(asset("page.css")),                                              //nolint:gosec // ours, embedded
		PlotJS:  template.JS(license() + strings.TrimSpace(asset("uplot/uPlot.iife.min.js"))), //nolint:gosec // ours, embedded
		PageJS:  template.JS(asset("page.js")),                                                //nolint:gosec // ours, embedded
	}
	a.Policy = "default-src 'none'; script-src " + source(string(a.PlotJS)) + " " + source(string(a.PageJS)) +
		"; style-src " + source(string(a.PlotCSS)) + " " + source(string(a.PageCSS)) +
		"; base-uri 'none'; form-action 'none'"
	return a
}

// source allows one inline script or style, by its digest.
func source(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// license is the library's licence as a comment, because a report is a copy of the library.
func license() string { return "/*! uPlot " + uPlotVersion + "\n" + asset("uplot/LICENSE") + "*/\n" }
