// Command argolua runs Lua scripts on objects as Argo CD does: with gopher-lua, the libraries that
// Argo CD opens for scripts of its ConfigMap, its time limit and its handling of empty tables. It
// reads a list of tasks as JSON from standard input and writes a list of results.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
	luajson "layeh.com/gopher-json"
)

// Argo CD's limit for one script (util/lua/lua.go).
const limit = time.Second

type task struct {
	Script string         `json:"script"`
	Object map[string]any `json:"object"`
}

type result struct {
	Value any    `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	var tasks []task
	if err := json.NewDecoder(os.Stdin).Decode(&tasks); err != nil {
		fmt.Fprintln(os.Stderr, "standard input:", err)
		os.Exit(1)
	}
	results := []result{}
	for _, each := range tasks {
		value, err := run(each)
		if err != nil {
			results = append(results, result{Error: err.Error()})
			continue
		}
		results = append(results, result{Value: value})
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(asked task) (any, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	// No string and no math: a script that uses them works in Argo CD's own tests and nowhere else.
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage,
		lua.BaseLibName: lua.OpenBase,
		lua.TabLibName:  lua.OpenTable,
	} {
		call := lua.P{Fn: state.NewFunction(open), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			return nil, err
		}
	}
	within, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	state.SetContext(within)
	state.SetGlobal("obj", luajson.DecodeValue(state, asked.Object))
	if err := state.DoString(asked.Script); err != nil {
		return nil, err
	}
	returned := state.Get(-1)
	if returned.Type() != lua.LTTable {
		return nil, fmt.Errorf("the script returned %s, not a table", returned.Type())
	}
	encoded, err := luajson.Encode(returned)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(encoded, &value); err != nil {
		return nil, err
	}
	return withEmptyMaps(value, asked.Object), nil
}

// withEmptyMaps gives what was an empty map its kind back: Lua knows no difference between an empty
// map and an empty list, and the encoder writes a list.
func withEmptyMaps(value, before any) any {
	switch was := before.(type) {
	case map[string]any:
		if list, ok := value.([]any); ok && len(list) == 0 {
			return map[string]any{}
		}
		if now, ok := value.(map[string]any); ok {
			for key, each := range now {
				if old, ok := was[key]; ok {
					now[key] = withEmptyMaps(each, old)
				}
			}
		}
	case []any:
		if now, ok := value.([]any); ok {
			for index := range min(len(now), len(was)) {
				now[index] = withEmptyMaps(now[index], was[index])
			}
		}
	}
	return value
}
