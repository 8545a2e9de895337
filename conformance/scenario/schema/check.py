"""Checks documents against the published schemas.

    check.py scenario|outcome|description FILE...   one verdict a file
    check.py < LINES                                one verdict a line of input, each an object
                                                    {"schema": "scenario", "document": {...}}

Prints "valid", or "invalid" with the place and the reason; exits with 1 if anything is invalid.
"""

import json
import pathlib
import sys

import jsonschema


def checker(name):
    path = pathlib.Path(__file__).parent / f"{name}.schema.json"
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def verdict(validator, document):
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    return "valid" if error is None else f"invalid: {error.json_path}: {error.message[:200]}"


def documents(arguments):
    if arguments:
        for name in arguments[1:]:
            yield arguments[0], json.loads(pathlib.Path(name).read_text()), f"{name}: "
    else:
        for line in sys.stdin:
            entry = json.loads(line)
            yield entry["schema"], entry["document"], ""


def main():
    validators = {}
    all_valid = True
    for name, document, prefix in documents(sys.argv[1:]):
        if name not in validators:
            validators[name] = checker(name)
        answer = verdict(validators[name], document)
        all_valid = all_valid and answer == "valid"
        print(prefix + answer)
    return 0 if all_valid else 1


if __name__ == "__main__":
    sys.exit(main())
