"""A Hugging Face Hub on this machine: what its client needs to load a model or a dataset, and to push one."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Files = dict[str, bytes]

# Tokens, and what the owner of each may do.
WRITER, READER, EXPIRED = "hf_writer", "hf_reader", "hf_expired"
ACCOUNT = "writer"


@dataclass
class Repository:
    """Files by commit, commits by branch or tag."""

    commits: dict[str, Files] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    gated: bool = False
    """Whether its files are kept from whom has not accepted its terms; as on the Hub, their names are not."""
    full: bool = False
    """Whether large files are refused."""

    def commit(self, files: Files, *refs: str) -> str:
        """Add files to what is there, and return the commit's hash."""
        content = {**self.commits.get(self.refs.get("main", ""), {}), **files}
        commit = hashlib.sha1(repr((len(self.commits), sorted(content.items()))).encode()).hexdigest()
        self.commits[commit] = content
        self.refs |= dict.fromkeys(("main", *refs), commit)
        return commit

    def find(self, revision: str) -> str:
        """The hash of a commit, by any of its names."""
        commit = self.refs.get(revision, revision)
        if commit not in self.commits:
            raise Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, code: str, message: str, body: dict[str, Any] | None = None) -> None:
        self.status, self.code, self.message = status, code, message
        self.body = body or {"error": message}


@dataclass
class Hub:
    """What is on the Hub, and what it was asked."""

    address: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    large: Files = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def add(self, repo_id: str, files: Files, **options: bool) -> Repository:
        repository = self.repositories[repo_id] = Repository(**options)
        repository.commit(files)
        return repository

    def find(self, repo_id: str) -> Repository:
        if repo_id not in self.repositories:
            raise Refused(401, "RepoNotFound", "Invalid username or password.")
        return self.repositories[repo_id]


@contextmanager
def running_hub() -> Iterator[Hub]:
    """Serve a Hub, empty at first, on a free port."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        self.content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            if self.headers.get("Authorization") == f"Bearer {EXPIRED}":
                raise Refused(401, "", "Invalid credentials in Authorization header")
            for methods, pattern, answer in ROUTES:
                if self.command in methods and (match := re.fullmatch(pattern, path)):
                    return answer(self, **match.groupdict())
            raise Refused(404, "", "Sorry, we can't find the page you are looking for.")
        except Refused as refused:
            self.reply(
                json.dumps(refused.body).encode(),
                refused.status,
                {"X-Error-Code": refused.code, "X-Error-Message": refused.message, "Content-Type": "application/json"},
            )

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any

    def log_message(self, *_: Any) -> None:
        """Stay silent."""

    def reply(self, content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def reply_json(self, data: Any) -> None:
        self.reply(json.dumps(data).encode(), headers={"Content-Type": "application/json"})

    def check_may_write(self) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if not token:
            raise Refused(401, "", "Invalid username or password.")
        if token != WRITER:
            raise Refused(403, "", "You don't have the rights to write under this namespace.")

    def info(self, repo_id: str, revision: str = "main") -> None:
        repository = self.hub.find(repo_id)
        commit = repository.find(revision)
        siblings = [{"rfilename": name} for name in repository.commits[commit]]
        self.reply_json({"id": repo_id, "sha": commit, "siblings": siblings, "tags": [], "private": False})

    def tree(self, repo_id: str, revision: str, folder: str | None = None) -> None:
        repository = self.hub.find(repo_id)
        files = repository.commits[repository.find(revision)]
        inside = f"{folder}/" if folder else ""
        self.reply_json([_entry(name, data) for name, data in files.items() if name.startswith(inside)])

    def refs(self, repo_id: str) -> None:
        branches = [
            {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit}
            for name, commit in self.hub.find(repo_id).refs.items()
        ]
        self.reply_json({"branches": branches[:1], "tags": branches[1:], "converts": []})

    def paths_info(self, repo_id: str, revision: str) -> None:
        repository = self.hub.find(repo_id)
        files = repository.commits[repository.find(revision)]
        names = parse_qs(self.content.decode())["paths"]
        self.reply_json([_entry(name, files[name]) for name in names if name in files])

    def resolve(self, repo_id: str, revision: str, name: str) -> None:
        repository = self.hub.find(repo_id)
        if repository.gated:
            raise Refused(401, "GatedRepo", f"Access to model {repo_id} is restricted.")
        commit = repository.find(revision)
        if name not in repository.commits[commit]:
            raise Refused(404, "EntryNotFound", "Entry not found")
        content = repository.commits[commit][name]
        headers = {"ETag": f'"{_oid(content)}"', "X-Repo-Commit": commit}
        if match := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
            first, last = int(match[1]), min(int(match[2]), len(content) - 1)
            self.hub.asked[-1] += f" {first}-{last}"
            self.reply(content[first : last + 1], 206, headers)
        else:
            self.reply(content, headers=headers)

    def create(self) -> None:
        self.check_may_write()
        wanted = json.loads(self.content)
        repo_id = f"{wanted['organization'] or ACCOUNT}/{wanted['name']}"
        body = {"url": f"{self.hub.address}/{repo_id}"}
        if repo_id in self.hub.repositories:
            raise Refused(409, "", "You already created this model repo", {**body, "error": "exists"})
        self.hub.repositories[repo_id] = Repository()
        self.reply_json(body)

    def whoami(self) -> None:
        if not self.headers.get("Authorization"):
            raise Refused(401, "", "Invalid username or password.")
        self.reply_json({"name": ACCOUNT, "type": "user", "auth": {}, "orgs": []})

    def create_tag(self, repo_id: str, revision: str) -> None:
        self.check_may_write()
        repository, tag = self.hub.find(repo_id), json.loads(self.content)["tag"]
        if tag in repository.refs:
            raise Refused(409, "", f"Tag {tag} exists")
        repository.refs[tag] = repository.find(revision)
        self.reply_json({})

    def delete_tag(self, repo_id: str, revision: str) -> None:
        self.check_may_write()
        repository = self.hub.find(repo_id)
        repository.find(revision)
        del repository.refs[revision]
        self.reply_json({})

    def preupload(self, repo_id: str, revision: str) -> None:
        self.check_may_write()
        self.hub.find(repo_id)
        names = [file["path"] for file in json.loads(self.content)["files"]]
        modes = {name: "lfs" if name.endswith(".safetensors") else "regular" for name in names}
        self.reply_json({"files": [{"path": name, "uploadMode": modes[name], "shouldIgnore": False} for name in names]})

    def large_batch(self, repo_id: str) -> None:
        self.check_may_write()
        self.reply_json(
            {
                "transfer": "basic",
                "objects": [
                    {**wanted, "actions": {"upload": {"href": f"{self.hub.address}/large/{repo_id}/{wanted['oid']}"}}}
                    for wanted in json.loads(self.content)["objects"]
                ],
            }
        )

    def large_file(self, repo_id: str, oid: str) -> None:
        if self.hub.find(repo_id).full:
            raise Refused(403, "", "Storage limit reached")
        assert hashlib.sha256(self.content).hexdigest() == oid
        self.hub.large[oid] = self.content
        self.reply(b"")

    def commit(self, repo_id: str, revision: str) -> None:
        self.check_may_write()
        operations = [json.loads(line) for line in self.content.splitlines()]
        regular = {op["value"]["path"]: base64.b64decode(op["value"]["content"]) for op in _of(operations, "file")}
        large = {op["value"]["path"]: self.hub.large[op["value"]["oid"]] for op in _of(operations, "lfsFile")}
        commit = self.hub.find(repo_id).commit({**regular, **large})
        self.reply_json(
            {"success": True, "commitOid": commit, "commitUrl": f"{self.hub.address}/{repo_id}/commit/{commit}"}
        )


def _entry(name: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "path": name, "size": len(content), "oid": _oid(content)}


def _oid(content: bytes) -> str:
    """The name that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _of(operations: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [operation for operation in operations if operation["key"] == kind]


KIND = "(models|datasets)"
REPO = "(?P<repo_id>[^/]+/[^/]+)"
ROUTES: list[tuple[str, str, Callable[..., None]]] = [
    ("GET", f"/api/{KIND}/{REPO}", _Handler.info),
    ("GET", f"/api/{KIND}/{REPO}/revision/(?P<revision>.+)", _Handler.info),
    ("GET", f"/api/{KIND}/{REPO}/tree/(?P<revision>[^/]+)(/(?P<folder>.+))?", _Handler.tree),
    ("GET", f"/api/{KIND}/{REPO}/refs", _Handler.refs),
    ("POST", f"/api/{KIND}/{REPO}/paths-info/(?P<revision>.+)", _Handler.paths_info),
    ("GET HEAD", f"/(datasets/)?{REPO}/resolve/(?P<revision>[^/]+)/(?P<name>.+)", _Handler.resolve),
    ("GET", "/api/whoami-v2", _Handler.whoami),
    ("POST", "/api/validate-yaml", lambda handler: handler.reply_json({})),
    ("POST", "/api/repos/create", _Handler.create),
    ("POST", f"/api/{KIND}/{REPO}/tag/(?P<revision>.+)", _Handler.create_tag),
    ("DELETE", f"/api/{KIND}/{REPO}/tag/(?P<revision>.+)", _Handler.delete_tag),
    ("POST", f"/api/{KIND}/{REPO}/preupload/(?P<revision>.+)", _Handler.preupload),
    ("POST", f"/(datasets/)?{REPO}.git/info/lfs/objects/batch", _Handler.large_batch),
    ("PUT", f"/large/{REPO}/(?P<oid>[0-9a-f]+)", _Handler.large_file),
    ("POST", f"/api/{KIND}/{REPO}/commit/(?P<revision>.+)", _Handler.commit),
]
