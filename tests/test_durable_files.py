"""Files that are there whole, or not at all; and what the system says about a disk, in our words."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

import pytest

import longmind
from longmind.runtime.durable_files import make_private_folder, new_file, replaced_file, translate_disk_error

Writing = Callable[[Path], AbstractContextManager[IO[bytes]]]


class Interrupted(Exception):
    pass


def write_half(writing: Writing, path: Path) -> None:
    with writing(path) as file:
        file.write(b"half")
        raise Interrupted


def test_a_new_file_is_for_its_owner_alone_and_is_gone_when_it_could_not_be_finished(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with pytest.raises(Interrupted):
        write_half(new_file, path)
    assert not path.exists()
    with new_file(path) as file:
        file.write(b"whole")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"whole", 0o600)
    with pytest.raises(FileExistsError), new_file(path):
        pass
    assert path.read_bytes() == b"whole"


def test_a_file_stays_as_it_was_until_what_replaces_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(Interrupted):
        write_half(replaced_file, path)
    assert path.read_bytes() == b"old"
    with replaced_file(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_is_written_and_not_replaced() -> None:
    with replaced_file(Path(os.devnull)) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()


def test_folders_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b")
    modes = {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "a", tmp_path / "a" / "b")}
    assert modes == {0o700}


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, longmind.StoreFull, "Free some space"),
        (errno.EDQUOT, longmind.StoreFull, "Free some space"),
        (errno.EFBIG, longmind.StoreFull, "Free some space"),
        (errno.EROFS, longmind.StoreReadOnly, "read-only"),
        (errno.EACCES, longmind.StoreReadOnly, "owner"),
        (errno.EMFILE, longmind.StoreUnavailable, "ulimit"),
        (errno.EIO, longmind.StoreError, "Check the disk"),
    ],
)
def test_what_the_system_says_about_a_disk_is_told_with_what_to_do(
    number: int, kind: type[longmind.StoreError], words: str
) -> None:
    error = translate_disk_error(OSError(number, os.strerror(number)), "the file")
    assert type(error) is kind
    assert words in error.hint
    assert "the file" in error.message
