// Command gojson says what Go's encoding/json makes of a port annotation.
//
// Linode's cloud controller reads the annotation linode-loadbalancer-port-N
// with encoding/json, which is laxer than Python's json in some ways (keys in
// any case) and stricter in others (the types of the fields). The plugin must
// judge an annotation as the controller does, so the tests put the same text to
// both and compare.
//
// Each line of stdin is a JSON string: the annotation's text, encoded once more
// so that any text fits on a line. Each gets one line on stdout, either
// {"error": "..."} or {"value": {...}}, written at once so that a test can keep
// the program running and talk to it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// portConfigAnnotation has the name, the fields and the types of the controller's
// own struct: the name shows in error messages.
type portConfigAnnotation struct {
	TLSSecretName string `json:"tls-secret-name"`
	Protocol      string `json:"protocol"`
	ProxyProtocol string `json:"proxy-protocol"`
	Algorithm     string `json:"algorithm"`
	Stickiness    string `json:"stickiness"`
	UDPCheckPort  string `json:"udp-check-port"`
}

type answer struct {
	Error string                `json:"error,omitempty"`
	Value *portConfigAnnotation `json:"value,omitempty"`
}

func judge(annotation string) answer {
	var config portConfigAnnotation
	if err := json.Unmarshal([]byte(annotation), &config); err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: &config}
}

func serve(stdin io.Reader, stdout io.Writer) error {
	// A Reader rather than a Scanner: a Scanner gives up on a long line.
	lines := bufio.NewReader(stdin)
	answers := json.NewEncoder(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var annotation string
		if err := json.Unmarshal(line, &annotation); err != nil {
			return fmt.Errorf("a line must be a JSON string: %w", err)
		}
		// Encode writes the whole line straight to stdout, unbuffered.
		if err := answers.Encode(judge(annotation)); err != nil {
			return err
		}
	}
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gojson:", err)
		os.Exit(1)
	}
}
