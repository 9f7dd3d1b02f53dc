"""What pages may change, and what refuses everything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from starlette.testclient import TestClient

from yardarm.errors import UsageError
from yardarm.viewer.responses import LONGEST_CHANGE, application, change
from yardarm.viewer.server import Listening


def client(editable: bool = True) -> TestClient:
    def answer(wanted: Mapping[str, Any]) -> Any:
        if "name" not in wanted:
            raise UsageError("name what to change")
        return {"changed": wanted["name"]}

    return TestClient(application([change("/api/change", answer, editable)], {"testserver"}))


def test_a_change_is_made_and_answered() -> None:
    answer = client().post("/api/change", json={"name": "x"})
    assert (answer.status_code, answer.json()) == (200, {"changed": "x"})


def test_a_change_is_never_made_by_following_a_link() -> None:
    assert client().get("/api/change").status_code == 405


def test_a_form_of_another_site_changes_nothing() -> None:
    assert client().post("/api/change", data={"name": "x"}).status_code == 415
    assert client().post("/api/change", json={"name": "x"}, headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_a_viewer_that_may_not_edit_says_so() -> None:
    answer = client(editable=False).post("/api/change", json={"name": "x"})
    assert answer.status_code == 403
    assert "--edit=true" in answer.json()["problem"]


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"x"', b"{}", b"\xff", b" " * (LONGEST_CHANGE + 1)])
def test_a_bad_change_gets_one_line(body: bytes) -> None:
    answer = client().post("/api/change", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert len(answer.json()["problem"].splitlines()) == 1


def test_pages_may_edit_unless_other_machines_can_reach_them() -> None:
    assert Listening().editable
    assert not Listening(host="0.0.0.0").editable
    assert Listening(host="0.0.0.0", edit=True).editable
    assert not Listening(edit=False).editable
