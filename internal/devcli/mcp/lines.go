package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine bounds a message of an agent on standard input.
const maxLine = 1 << 20

// output writes whole messages, one after the other. It is not closed.
type output struct {
	mu sync.Mutex
	to io.Writer
}

// stdout is where messages go: not to a terminal, but to an agent, and as they are.
var stdout = &output{to: os.Stdout}

// Write writes a message.
func (o *output) Write(message []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(message)
}

// Close does nothing.
func (o *output) Close() error { return nil }

// lines passes on the messages of an agent, one a line. A line that is none is answered, and does not end the connection as the library
// would.
type lines struct {
	*io.PipeReader
}

// newLines reads messages from a reader until it ends. It answers the lines that are none.
func newLines(from io.Reader, answers io.Writer) lines {
	in, out := io.Pipe()
	go func() { out.CloseWithError(pass(bufio.NewReaderSize(from, 64<<10), out, answers)) }() // a pipe's close never fails
	return lines{in}
}

// pass copies messages until the reader ends.
func pass(from *bufio.Reader, messages, answers io.Writer) error {
	for {
		line, long, err := readLine(from)
		switch text := bytes.TrimSpace(line); {
		case long:
			refuse(answers, -32600, fmt.Sprintf("a message has at most %d bytes", maxLine))
		case len(text) == 0:
		default:
			if _, wrong := jsonrpc.DecodeMessage(text); wrong != nil || !json.Valid(text) { // the library reads the first of two
				refuse(answers, -32700, "this line is no message of JSON-RPC 2.0: one object a line, no lists")
				break
			}
			if _, err := messages.Write(append(text, '\n')); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line. Of one that is too long nothing is kept.
func readLine(from *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, more, err := from.ReadLine()
		if len(line)+len(part) > maxLine {
			line, long = nil, true
		}
		if !long {
			line = append(line, part...)
		}
		if err != nil || !more {
			return line, long, err
		}
	}
}

// refuse answers a line that is no message.
func refuse(to io.Writer, code int, message string) {
	fmt.Fprintf(to, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, message)
}
