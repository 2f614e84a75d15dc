# SPDX-License-Identifier: Apache-2.0
"""Series and frames of pandas, which is needed by those alone who use them."""
import sys

import numpy as np

from ._library import GpmemValueError


def pandas():
    """The module, or an error that says who needs it."""
    try:
        import pandas as pd
    except ImportError as e:
        raise GpmemValueError("DataFrames need pandas (Debian: python3-pandas); forecast() and result do without") from e
    return pd


def is_series(y):
    """Whether y is a Series of pandas, without importing it for those who have none."""
    pd = sys.modules.get("pandas")
    return pd is not None and isinstance(y, pd.Series)


def is_frame(y):
    """Whether y is a DataFrame of pandas."""
    pd = sys.modules.get("pandas")
    return pd is not None and isinstance(y, pd.DataFrame)


def is_index(y):
    """Whether y is an index of pandas."""
    pd = sys.modules.get("pandas")
    return pd is not None and isinstance(y, pd.Index)


def plain_array(values, name):
    """An array; of a masked one with None where the mask is."""
    a = np.asarray(values)
    if a.dtype.kind == "c":
        raise GpmemValueError("%s must hold real numbers, not complex ones" % name)
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        a = a.astype(object)
        a[np.ma.getmaskarray(values)] = None
    return a


def is_missing(v):
    """Whether a value of a column is none: None, nan, and those of pandas."""
    pd = sys.modules.get("pandas")
    if v is None or (pd is not None and (v is pd.NA or v is pd.NaT)):
        return True
    unequal = v != v
    return isinstance(unequal, (bool, np.bool_)) and bool(unequal)  # an array in a cell gives an array


def numbers(values, name):
    """An array of floats, nan where a value is missing: also of masked arrays and of pandas' own types."""
    a = plain_array(values, name)
    if a.dtype.kind != "O":
        try:
            return a.astype(float)
        except ValueError:
            pass
    out = np.full(a.shape, np.nan)
    for at, v in np.ndenumerate(a):
        if is_missing(v):
            continue
        try:
            out[at] = float(v)
        except (TypeError, ValueError):
            raise GpmemValueError("%s must hold numbers, and nan where one is missing; %s%s is %r"
                                  % (name, name, list(at) if at else "", v)) from None
    return out


def _steps(times):
    """How many different steps there are between times."""
    return len(np.unique(np.diff(np.sort(times.to_numpy()))))


def plain_times(y):
    """The entries of a Series or an index that are times, without their zone; None: they are none."""
    pd = pandas()
    if y.dtype == object and pd.api.types.infer_dtype(y) not in ("datetime", "datetime64", "period"):
        return None
    index = pd.Index(y)
    return Times._texts_or_numbers(index) if isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex)) else None


def _chosen(frame, name, what):
    """A column by its name, or by its number from 1."""
    if name in frame.columns:
        return name
    if isinstance(name, int) and not isinstance(name, bool) and 1 <= name <= len(frame.columns):
        return frame.columns[name - 1]
    raise GpmemValueError("the DataFrame has no column %r for %s; columns are %s" % (name, what, ", ".join(map(str, frame.columns))))


def _time_column(frame, time):
    """The columns by their names in small letters, those that may be times, and that of the times; None: the index."""
    pd = pandas()
    names = {str(c).lower(): c for c in frame.columns}
    dated = [c for c in frame.columns if isinstance(frame[c].dtype, (pd.PeriodDtype, pd.DatetimeTZDtype)) or frame[c].dtype.kind == "M"]
    dated += [names[n] for n in ("ds", "date", "time", "timestamp", "datetime") if n in names]
    if time is not None:
        time = _chosen(frame, time, "the times")
    elif dated and not isinstance(frame.index, (pd.DatetimeIndex, pd.PeriodIndex)):
        time = dated[0]
    return names, dated, time


def times_of(frame, time, count):
    """The times of a DataFrame whose rows are counted, or that has nothing but times; else None."""
    _, dated, time = _time_column(frame, time)
    if not count and set(frame.columns) - set(dated):
        return None
    return plain_times(pandas().to_datetime(frame[time]) if time is not None else frame.index)


def series_of(frame, time=None, column=None):
    """A column of a DataFrame as a Series over its column of times, or over its index where it has none."""
    pd = pandas()
    names, dated, time = _time_column(frame, time)
    values = [c for c in frame.columns if c not in dated and c != time and pd.api.types.is_numeric_dtype(frame[c].dtype)]
    usual = [names[n] for n in ("y", "value", "values") if n in names and names[n] in values]
    if column is not None:
        column = _chosen(frame, column, "the values")
    elif len(values) == 1 or usual:
        column = usual[0] if usual else values[0]
    else:
        raise GpmemValueError("the DataFrame has %s; choose the values with column (discover_panel takes each column for a series): %s"
                              % ("several columns of numbers" if values else "no column of numbers", ", ".join(map(str, values or frame.columns))))
    if not isinstance(frame[column], pd.Series):
        raise GpmemValueError("the DataFrame has several columns %r" % (column,))
    return frame[column] if time is None else pd.Series(frame[column].to_numpy(), index=pd.Index(frame[time]), name=column)


class Times:
    """The index of a series: as times that the library reads, and the times that follow."""

    def __init__(self, index):
        pd = pandas()
        if isinstance(index, pd.MultiIndex):
            raise GpmemValueError("the index of a series has one level; of a panel, choose one series")
        if not index.is_unique and isinstance(index, pd.PeriodIndex):
            raise GpmemValueError("periods of the index repeat")
        self.index = index
        self.values = self._texts_or_numbers(index)

    @staticmethod
    def _without_zone(index, like):
        """Times as the clocks of their zone show them, where those of the series `like` then have more regular steps than in UTC:
        days and months, whose midnights shift when clocks do. Hours stay even in UTC alone; while no clock was changed days are
        told by their one time of day."""
        local = like.tz_localize(None)
        steps, in_utc = _steps(local), _steps(like.tz_convert("UTC").tz_localize(None))
        daily = len((local - local.normalize()).unique()) == 1
        clocks = local.is_unique and (steps < in_utc or (steps == in_utc and daily))
        return index.tz_localize(None) if clocks else index.tz_convert("UTC").tz_localize(None)

    @staticmethod
    def _texts_or_numbers(index, like=None):
        pd = pandas()
        if isinstance(index, pd.PeriodIndex):
            index = index.to_timestamp(how="start")
        if isinstance(index, pd.DatetimeIndex):
            if index.tz is not None:
                like = like if isinstance(like, pd.DatetimeIndex) and like.tz is not None else index
                index = Times._without_zone(index.tz_convert(like.tz), like)
            return index.to_numpy()
        if index.dtype.kind in "iuf":
            return index.to_numpy()
        return index.astype(str).to_numpy()

    def after(self, n):
        """The n entries that follow the last one; None where the index does not say which they are."""
        pd, index = pandas(), self.index
        if isinstance(index, pd.PeriodIndex):
            return pd.period_range(index.max() + 1, periods=n, freq=index.freq, name=index.name)
        if isinstance(index, pd.DatetimeIndex):
            freq = index.freq
            if freq is None and len(index) > 2 and index.is_monotonic_increasing:
                freq = pd.infer_freq(index)
            return None if freq is None else pd.date_range(index.max(), periods=n + 1, freq=freq, name=index.name)[1:]
        if isinstance(index, pd.RangeIndex) or index.dtype.kind in "iu":
            steps = np.diff(np.sort(index.to_numpy()))
            if len(steps) and (steps == steps[0]).all() and steps[0] > 0:
                return pd.Index(index.max() + steps[0] * np.arange(1, n + 1), name=index.name)
        return None


def as_texts(index, times=None):
    """Entries of an index as the library reads times of a series that came from such an index, or from `times`."""
    pd = pandas()
    values = Times._texts_or_numbers(pd.Index(index), None if times is None else times.index)
    if values.dtype.kind != "M":
        return [repr(v) if isinstance(v, float) else str(v) for v in values.tolist()]
    days = values.astype("datetime64[D]")
    return np.datetime_as_string(days if (days == values).all() else values).tolist()


def index_of(times):
    """An index for times as the library writes them: dates where they are."""
    pd = pandas()
    index = pd.Index(times)
    if index.dtype.kind != "O" or isinstance(index, (pd.PeriodIndex, pd.DatetimeIndex)):
        return index
    try:
        return pd.DatetimeIndex(pd.to_datetime(index))
    except (ValueError, TypeError):
        return index
