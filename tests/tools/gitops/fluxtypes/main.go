// Command fluxtypes reads Flux objects and Namespaces as YAML documents from standard input, strictly: a field that
// Flux does not know is an error. It writes their kinds.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	helm "github.com/fluxcd/helm-controller/api/v2"
	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	source "github.com/fluxcd/source-controller/api/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	if err := read(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, kustomize.AddToScheme, helm.AddToScheme, source.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, kind, err := codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			return err
		}
		fmt.Println(kind.Kind)
	}
}
