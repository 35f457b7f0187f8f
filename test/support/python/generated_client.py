"""
Calls a gateway with the client that openapi-python-client generated, and prints JSON: the calls' results, and the nouns of the
document against the classes of the client. Arguments: folder of the client, base URL, token, names of the nouns.
"""

import inspect
import json
import re
import sys

folder, base_url, token, *nouns = sys.argv[1:]
sys.path.insert(0, folder)

from sluice_client import AuthenticatedClient, models  # noqa: E402
from sluice_client.api.enterprises import get_enterprise  # noqa: E402
from sluice_client.api.keys import create_key, list_keys  # noqa: E402
from sluice_client.api.platform import admin_create_enterprise  # noqa: E402

classes = {name: found for name, found in vars(models).items() if inspect.isclass(found) and hasattr(found, "__attrs_attrs__")}
fields = {name: frozenset(field.name for field in found.__attrs_attrs__) for name, found in classes.items()}
missing = [noun for noun in nouns if noun not in classes]
numbered = [name for name in classes if re.sub(r"\d+$", "", name) in nouns and name not in nouns]
# A schema that is written out where a reference should stand gets a class of another name with the same fields. Bodies may
# have the fields of the noun that they make.
copies = [
    [noun, name]
    for noun in nouns
    for name in classes
    if noun in fields and name not in nouns and not re.search(r"Body", name) and len(fields[noun]) > 3 and fields[name] == fields[noun]
]

with AuthenticatedClient(base_url=base_url, token=token) as client:
    made = create_key.sync(client=client, body=models.CreateKeyBody(name="generated", rpm=5))
    listed = list_keys.sync(client=client)
    enterprise = admin_create_enterprise.sync(client=client, body=models.AdminCreateEnterpriseBody(name="Generated"))
    found = get_enterprise.sync(client=client, id=enterprise.id)
    refused = get_enterprise.sync(client=client, id="ent_unknown")
    print(
        json.dumps(
            {
                "missing": missing,
                "numbered": numbered,
                "copies": copies,
                "made": [type(made).__name__, made.key.startswith("sk-")],
                "listed": sorted({type(key).__name__ for key in listed.data}),
                "names": [key.name for key in listed.data],
                "enterprise": [type(enterprise).__name__, type(found).__name__, found.name, type(found.spend).__name__],
                "refused": [type(refused).__name__, refused.error.code],
            }
        )
    )
