"""Builds the wheel and the sdist (PEP 517) with the standard library alone, so that pip and build need nothing from an index.

The same sources give the same bytes.
"""
from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# The oldest time that a zip can hold.
EPOCH = (1980, 1, 1, 0, 0, 0)


def _setting(name: str) -> str:
    found = re.search(rf'^{name} = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"pyproject.toml has no {name}")
    return found[1]


def _release() -> str:
    return f"{_setting('name')}-{_setting('version')}"


def _metadata() -> bytes:
    return (f"Metadata-Version: 2.1\nName: {_setting('name')}\nVersion: {_setting('version')}\nSummary: {_setting('description')}\n"
            f"License: Apache-2.0\nRequires-Python: {_setting('requires-python')}\nDescription-Content-Type: text/markdown\n\n").encode() + (ROOT / "README.md").read_bytes()


def _sources(below: Path) -> list[Path]:
    return sorted(path for path in below.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    name, info, record = f"{_release()}-py3-none-any.whl", f"{_release()}.dist-info", []
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(path: str, content: bytes) -> None:
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")

        for path in _sources(ROOT / "src"):
            add(path.relative_to(ROOT / "src").as_posix(), path.read_bytes())
        add(f"{info}/METADATA", _metadata())
        add(f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: cascada\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        add(f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
        record.append(f"{info}/RECORD,,")
        entry = zipfile.ZipInfo(f"{info}/RECORD", EPOCH)
        entry.external_attr = 0o644 << 16
        wheel.writestr(entry, "\n".join(record) + "\n")
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    name = f"{_release()}.tar.gz"
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        def add(path: str, content: bytes) -> None:
            entry = tarfile.TarInfo(f"{_release()}/{path}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))

        add("PKG-INFO", _metadata())
        for path in [ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "LICENSE", *_sources(ROOT / "backend"), *_sources(ROOT / "src")]:
            add(path.relative_to(ROOT).as_posix(), path.read_bytes())
    with open(Path(sdist_directory) / name, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(made.getvalue())
    return name
