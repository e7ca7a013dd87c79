"""The JSON Schema of a policy file, for editors."""

from typing import Any

from pydantic import BaseModel, TypeAdapter

from shoal.hierarchy import known_keys
from shoal.methods import ALGORITHMS
from shoal.metrics.registry import METRICS
from shoal.models import MODELS
from shoal.models.spec import kebab


def json_schema(policy: type[BaseModel]) -> dict[str, Any]:
    """Pydantic's schema of the policy, every registered model and hierarchy included."""
    schema = policy.model_json_schema(by_alias=True)
    schema["properties"]["require"]["items"] = {"anyOf": [_model_schema(name) for name in MODELS]}
    schema["properties"]["require"]["minItems"] = 1
    schema["$defs"]["Blocking"]["properties"]["require"]["items"] = schema["properties"]["require"]["items"]
    schema["$defs"]["Attribute"]["properties"]["hierarchy"]["anyOf"][0] = _hierarchy_schema()
    method = schema["$defs"]["Method"]["properties"]
    method["algorithm"]["enum"], method["metric"]["enum"] = list(ALGORITHMS), list(METRICS)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Shoal policy"
    role = schema["properties"]["attributes"]["additionalProperties"]
    schema["properties"]["attributes"]["additionalProperties"] = {"anyOf": [role, {"$ref": "#/$defs/Role"}]}
    return schema


def _hierarchy_schema() -> dict[str, Any]:
    table = {"type": "object", "properties": {key: {} for key in sorted(known_keys())}, "additionalProperties": False}
    return {"anyOf": [{**table, "minProperties": 1}, {"type": "array", "minItems": 1}]}


def _model_schema(name: str) -> dict[str, Any]:
    schema = TypeAdapter(MODELS[name]).json_schema()
    properties = {"model": {"const": name}} | {kebab(key): value for key, value in schema["properties"].items()}
    required = ["model", *map(kebab, schema.get("required", []))]
    return {
        "title": name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
