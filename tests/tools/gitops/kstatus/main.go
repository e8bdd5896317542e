// Command kstatus tells what kstatus makes of objects, and what Flux makes of them with
// healthCheckExprs. It reads one JSON document from standard input and writes a list of results.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type question struct {
	Objects []json.RawMessage                 `json:"objects"`
	Exprs   *kustomize.HealthCheckExpressions `json:"exprs,omitempty"`
}

type result struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := answer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer() error {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	results := []result{}
	for _, each := range asked.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(each); err != nil {
			return err
		}
		told, err := judge(object, asked.Exprs)
		if err != nil {
			return err
		}
		results = append(results, told)
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

func judge(object *unstructured.Unstructured, exprs *kustomize.HealthCheckExpressions) (result, error) {
	if exprs == nil {
		told, err := status.Compute(object)
		if err != nil {
			return result{}, err
		}
		return result{Status: told.Status.String(), Message: told.Message}, nil
	}
	evaluator, err := cel.NewStatusEvaluator(exprs)
	if err != nil {
		return result{}, err
	}
	told, err := evaluator.Evaluate(context.Background(), object)
	if err != nil {
		// As Flux's status reader has it: it goes on waiting.
		return result{Status: status.UnknownStatus.String(), Message: err.Error()}, nil
	}
	return result{Status: told.Status.String(), Message: told.Message}, nil
}
