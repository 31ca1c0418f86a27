// Decodes OTLP requests with the decoder that the Collector, Prometheus and Mimir have, and says what it understood: a
// line of JSON a request, on standard input and output. What it drops silently (an unknown field, a wrong type) shows as
// a difference from what was sent.
package main

import (
	"bufio"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		request := pmetricotlp.NewExportRequest()
		if err := request.UnmarshalJSON(in.Bytes()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		// Through protobuf, so that what JSON alone could carry is gone.
		wire, err := request.MarshalProto()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		again := pmetricotlp.NewExportRequest()
		if err := again.UnmarshalProto(wire); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		text, err := again.MarshalJSON()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(string(text))
	}
}
