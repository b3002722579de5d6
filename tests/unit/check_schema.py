#!/usr/bin/python3
"""Whether a JSON Schema takes what it should: check_schema.py SCHEMA CASES, with CASES a list of
{"name": …, "value": …, "good": …}. Prints a line for each that it judges otherwise."""
import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    cases = json.load(file)

jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for case in cases:
    errors = [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in validator.iter_errors(case["value"])]
    if case["good"] and errors:
        print(f"refused: {case['name']}\n  " + "\n  ".join(errors))
    elif not case["good"] and not errors:
        print(f"taken: {case['name']}")
