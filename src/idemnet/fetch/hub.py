"""Files on the Hugging Face Hub, by hf:// addresses; HF_ENDPOINT, HF_TOKEN etc. apply."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from idemnet.errors import BadInputError

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


class HubFile(NamedTuple):
    """A file on the Hub at one commit."""

    url: str
    sha256: str | None
    """None for small files, which are stored in git itself."""
    headers: dict[str, str]
    """Request headers, with the user's token."""


def locate(address: str, timeout: float) -> HubFile:
    """Resolve a large file on the Hub, `hf://datasets/OWNER/NAME[@REVISION]/PATH`.

    huggingface_hub's own download (2.4) starts over after a kill, too slow for 9 GB.

    Raises:
        ConnectionError: If the Hub cannot be reached, or is busy.
        BadInputError: If the file does not exist, or the user has no access.
    """
    from huggingface_hub import (  # noqa: PLC0415
        get_hf_file_metadata,
        get_token,
        hf_hub_url,
        parse_hf_uri,
    )

    with _plain_errors():
        uri = parse_hf_uri(address)
        if not uri.path_in_repo:
            raise BadInputError("expected the address of a file, got that of a repository")
        place = {"repo_id": uri.id, "filename": uri.path_in_repo, "repo_type": uri.type}
        found = get_hf_file_metadata(hf_hub_url(**place, revision=uri.revision), timeout=timeout)
        url = hf_hub_url(**place, revision=found.commit_hash or uri.revision)
        sha256 = found.etag if re.fullmatch("[0-9a-f]{64}", found.etag or "") else None
        token = get_token()
        return HubFile(url, sha256, {"Authorization": f"Bearer {token}"} if token else {})


def download_files(address: str, *names: str) -> Path:
    """Download small files from the root of `hf://OWNER/NAME[@REVISION]`; return their folder.

    They are kept in huggingface_hub's cache, which is used if the Hub cannot be reached.

    Raises:
        BadInputError: If one of them is neither on the Hub nor in the cache.
    """
    from huggingface_hub import hf_hub_download, parse_hf_uri  # noqa: PLC0415

    with _final_errors(address):
        uri = parse_hf_uri(address)
        if uri.path_in_repo:
            raise BadInputError("expected hf://OWNER/NAME[@REVISION], got the address of a file")
        path, revision = Path(), uri.revision
        for name in names:  # all from the commit of the first
            path = Path(hf_hub_download(uri.id, name, repo_type=uri.type, revision=revision))
            revision = path.parent.name
        return path.parent


def upload_files(repository: str, files: Mapping[str, bytes], message: str) -> str:
    """Commit files to a model repository, creating it if needed; return its address.

    Raises:
        BadInputError: If the Hub rejects them or cannot be reached.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, parse_hf_uri  # noqa: PLC0415

    with _final_errors(repository):
        uri = parse_hf_uri(f"hf://{repository}")
        if uri.type != "model" or uri.path_in_repo or uri.revision:
            raise BadInputError("expected OWNER/NAME")
        api = HfApi()
        api.create_repo(uri.id, exist_ok=True)
        additions = [CommitOperationAdd(name, content) for name, content in files.items()]
        commit = api.create_commit(uri.id, additions, commit_message=message)
        return f"hf://{uri.id}@{commit.oid}"


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Summarise errors of addresses and of the Hub in one line."""
    from httpx2 import TransportError  # noqa: PLC0415
    from huggingface_hub.errors import (  # noqa: PLC0415
        HfHubHTTPError,
        HfUriError,
        LocalEntryNotFoundError,
    )

    try:
        yield
    except HfUriError as error:
        raise BadInputError(f"expected an address on the Hub, got: {error}") from error
    except (TransportError, LocalEntryNotFoundError) as error:
        cause = error.__cause__ or error
        raise ConnectionError(f"expected an answer of the Hub, got: {cause}") from error
    except HfHubHTTPError as error:
        message = f"expected 200 from the Hub, got: {' '.join(str(error).split()):.300}"
        busy = error.response.status_code >= 500 or error.response.status_code in (408, 429)
        raise (ConnectionError if busy else BadInputError)(message) from error


@contextmanager
def _final_errors(what: str) -> Iterator[None]:
    """Prefix a final error with the address; it is not retried."""
    try:
        with _plain_errors():
            yield
    except (BadInputError, OSError) as error:
        raise BadInputError(f"{what}: {error}") from error
