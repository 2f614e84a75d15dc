# SPDX-License-Identifier: Apache-2.0
"""Groups of draws on disk, as ArviZ reads them: netCDF (by xarray), Zarr (written here: version 2, not compressed)."""
from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._library import GpmemValueError, version

if TYPE_CHECKING:
    import xarray

Groups = Mapping[str, Mapping[str, np.ndarray]]


def _attributes() -> dict[str, str]:
    return {"inference_library": "gpmem", "inference_library_version": version()}


def _dimensions(group: str, name: str, x: np.ndarray) -> list[str]:
    """Names of dimensions as ArviZ makes them; observed data have neither chains nor draws."""
    first = [] if group == "observed_data" else ["chain", "draw"]
    return first + ["%s_dim_%d" % (name, i) for i in range(x.ndim - len(first))]


def _arrays(group: str, variables: Mapping[str, np.ndarray]) -> dict[str, tuple[list[str], np.ndarray]]:
    """{name: (dimensions, array)} of a group: its variables and the coordinates along their dimensions."""
    out = {name: (_dimensions(group, name, x), x) for name, x in variables.items()}
    for dims, x in list(out.values()):
        for dim, n in zip(dims, x.shape):
            if dim in variables:
                raise GpmemValueError("the quantity %r has the name of a dimension; collect labelled(..., another)" % dim)
            out[dim] = ([dim], np.arange(n))
    return out


def to_xarray(groups: Groups) -> dict[str, xarray.Dataset]:
    """A Dataset for each group."""
    try:
        import xarray
    except ImportError as e:
        raise GpmemValueError("Datasets and netCDF need xarray (Debian: python3-xarray); to_zarr() does without") from e
    return {group: xarray.Dataset(_arrays(group, variables), attrs=_attributes()) for group, variables in groups.items()}


def _engine() -> Literal["h5netcdf", "netcdf4"]:
    """What writes files with groups: xarray's first choice may be scipy, which knows none."""
    if importlib.util.find_spec("h5netcdf"):
        return "h5netcdf"
    if importlib.util.find_spec("netCDF4"):
        return "netcdf4"
    raise GpmemValueError("netCDF files with groups need h5netcdf or netCDF4 (Debian: python3-h5netcdf)")


def to_netcdf(groups: Groups, path: Any) -> None:
    """One file of netCDF-4 with a group for each: arviz.from_netcdf reads it."""
    mode: Literal["w", "a"] = "w"
    for group, data in to_xarray(groups).items():
        data.to_netcdf(path, mode=mode, group=group, engine=_engine())
        mode = "a"


def _write(*place: Any, data: bytes) -> None:
    path = os.path.join(*place)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def _json(x: Any) -> bytes:
    return json.dumps(x, indent=1).encode() + b"\n"


def _folder(name: str) -> str:
    """A name as that of a folder: percent signs are for what leads elsewhere or cannot be shown. Different names stay so."""
    def shown(i: int, c: str) -> bool:
        return c.isprintable() and c not in "%/\\" and (i > 0 or c != ".")
    return "".join(c if shown(i, c) else "".join("%%%02X" % b for b in c.encode(errors="surrogatepass"))
                   for i, c in enumerate(name)) or "%"


def to_zarr(groups: Groups, folder: Any) -> None:
    """A folder of Zarr with a group for each: arviz.from_zarr reads it."""
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise GpmemValueError("%s is there and not empty" % folder)
    _write(folder, ".zgroup", data=_json({"zarr_format": 2}))
    _write(folder, ".zattrs", data=_json(_attributes()))
    for group, variables in groups.items():
        _write(folder, group, ".zgroup", data=_json({"zarr_format": 2}))
        _write(folder, group, ".zattrs", data=_json(_attributes()))
        for name, (dims, x) in _arrays(group, variables).items():
            name, dims = _folder(name), [_folder(dim) for dim in dims]
            kind = "|b1" if x.dtype.kind == "b" else "<i8" if x.dtype.kind in "iu" else "<f8"
            _write(folder, group, name, ".zarray", data=_json(
                {"zarr_format": 2, "shape": x.shape, "chunks": [max(n, 1) for n in x.shape], "dtype": kind, "compressor": None,
                 "fill_value": None, "order": "C", "filters": None}))
            _write(folder, group, name, ".zattrs", data=_json({"_ARRAY_DIMENSIONS": dims}))
            _write(folder, group, name, ".".join("0" for _ in dims) or "0", data=np.ascontiguousarray(x, dtype=kind).tobytes())
