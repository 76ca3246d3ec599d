package runner

import (
	"encoding/json"
	"fmt"
)

// encode writes a document for people and programs.
func encode(document any) ([]byte, error) {
	b, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	return append(b, '\n'), nil
}
