package faults

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// Silent returns why a benchmark is wedged, if it stays as it is: it has neither finished nor
// failed, nor does a condition say what it waits for, with a reason of the vocabulary and a
// message that names one of the objects, or the field of its spec. It returns the empty
// string for one that is not.
func Silent(b *v1alpha1.StorageBenchmark, reasons, objects []string) string {
	all := b.Status.Conditions
	c := meta.FindStatusCondition(all, v1alpha1.ConditionReady)
	switch over := meta.IsStatusConditionTrue(all, v1alpha1.ConditionComplete) || meta.IsStatusConditionTrue(all, v1alpha1.ConditionFailed); {
	case c == nil:
		return "it has no condition Ready"
	case c.ObservedGeneration != b.Generation:
		return fmt.Sprintf("its conditions are of generation %d, and it is of %d", c.ObservedGeneration, b.Generation)
	case over && b.DeletionTimestamp.IsZero():
		return ""
	case !slices.Contains(reasons, c.Reason):
		return fmt.Sprintf("%s is not a reason that package api/reason defines: %s", c.Reason, c.Message)
	case c.Reason == reason.InternalError:
		return "it waits for nothing but the end of an error: " + c.Message
	}
	for _, object := range append([]string{"spec."}, objects...) {
		if object != "" && strings.Contains(c.Message, object) {
			return ""
		}
	}
	return fmt.Sprintf("%s names none of %v: %s", c.Reason, objects, c.Message)
}

// Reasons are the words of package reason, as its source has them.
func Reasons(tb testing.TB) []string {
	tb.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/reason/reason.go", nil, parser.SkipObjectResolution)
	if err != nil {
		tb.Fatal(err)
	}
	var words []string
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if word, err := strconv.Unquote(literal.Value); err == nil {
				words = append(words, word)
			}
		}
		return true
	})
	return words
}
