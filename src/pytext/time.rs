//! Dates, times, timestamps without zone and durations as Python's `datetime` prints them.
//!
//! Python has whole microseconds and the years 1 to 9999. What lies outside is an error, as it is in pyarrow where
//! pandas isn't installed.

use std::io::Write as _;

use arrow_schema::TimeUnit;

use super::conversion::Conversion;
use crate::error::{Code, Error, Result};

/// The length of a day.
pub(super) const DAY_MILLISECONDS: i64 = 86_400_000;
/// The length of a day.
const DAY_MICROSECONDS: i128 = 86_400_000_000;
/// Days from 1970-01-01 to 0001-01-01 and to 9999-12-31.
const DATE_DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;
/// The largest number of days of a `timedelta`.
const MAX_TIMEDELTA_DAYS: i128 = 999_999_999;

/// Appends formatted text; writing into a vector can't fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => { let _ = write!($out, $($format)*); };
}

/// Appends a date, counted in days from 1970-01-01.
///
/// # Errors
///
/// If the year isn't 1 to 9999.
pub(super) fn date(days: i64, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    let date = Date::of(days).ok_or_else(|| out_of_years(days, "days"))?;
    match conversion {
        Conversion::Str => date.put(out),
        Conversion::Json | Conversion::JsonWithoutNulls => {
            out.push(b'"');
            date.put(out);
            out.push(b'"');
        }
        Conversion::Repr => {
            put!(out, "datetime.date({}, {}, {})", date.year, date.month, date.day);
        }
    }
    Ok(())
}

/// Appends a timestamp without zone, counted in `unit` from 1970-01-01.
///
/// # Errors
///
/// If the year isn't 1 to 9999, or the value isn't whole microseconds.
pub(super) fn timestamp(value: i64, unit: TimeUnit, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    let (date, clock) = moment(value, unit)?;
    match conversion {
        Conversion::Str => {
            date.put(out);
            out.push(b' ');
            clock.put(out);
        }
        Conversion::Json | Conversion::JsonWithoutNulls => {
            out.push(b'"');
            date.put(out);
            out.push(b' ');
            clock.put(out);
            out.push(b'"');
        }
        Conversion::Repr => {
            put!(out, "datetime.datetime({}, {}, {}, ", date.year, date.month, date.day);
            clock.put_arguments(out);
        }
    }
    Ok(())
}

/// Appends a time of day. pyarrow makes it by way of a timestamp, so a value outside the day wraps.
///
/// # Errors
///
/// If the value isn't whole microseconds, or so far outside the day that it has no date.
pub(super) fn time(value: i64, unit: TimeUnit, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    let (_, clock) = moment(value, unit)?;
    match conversion {
        Conversion::Str => clock.put(out),
        Conversion::Json | Conversion::JsonWithoutNulls => {
            out.push(b'"');
            clock.put(out);
            out.push(b'"');
        }
        Conversion::Repr => {
            out.extend_from_slice(b"datetime.time(");
            clock.put_arguments(out);
        }
    }
    Ok(())
}

/// Appends a duration.
///
/// # Errors
///
/// If the value isn't whole microseconds, or is longer than a `timedelta` can be.
pub(super) fn duration(value: i64, unit: TimeUnit, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    let micros = microseconds(value, unit)?;
    let days = micros.div_euclid(DAY_MICROSECONDS);
    if days.abs() > MAX_TIMEDELTA_DAYS {
        return Err(Error::render(
            Code::UnconvertibleValue,
            format!("the duration {value} {} is longer than {MAX_TIMEDELTA_DAYS} days", name(unit)),
        ));
    }
    let clock = Clock::of(micros);
    match conversion {
        Conversion::Json | Conversion::JsonWithoutNulls => {
            out.push(b'"');
            duration(value, unit, Conversion::Str, out)?;
            out.push(b'"');
        }
        Conversion::Str => {
            if days != 0 {
                let plural = if days.abs() == 1 { "" } else { "s" };
                put!(out, "{days} day{plural}, ");
            }
            clock.put_unpadded(out);
        }
        Conversion::Repr => {
            let seconds = (clock.hour * 60 + clock.minute) * 60 + clock.second;
            out.extend_from_slice(b"datetime.timedelta(");
            let start = out.len();
            for (name, part) in
                [("days", days), ("seconds", seconds.into()), ("microseconds", clock.microsecond.into())]
            {
                if part != 0 {
                    let comma = if out.len() > start { ", " } else { "" };
                    put!(out, "{comma}{name}={part}");
                }
            }
            if out.len() == start {
                out.push(b'0');
            }
            out.push(b')');
        }
    }
    Ok(())
}

struct Date {
    year: i64,
    month: i64,
    day: i64,
}

impl Date {
    /// The date `days` after 1970-01-01, if Python has it.
    fn of(days: i64) -> Option<Self> {
        if !DATE_DAYS.contains(&days) {
            return None;
        }
        // Counted from 0000-03-01: a leap day then ends its year, and the months' lengths follow one line.
        let days = days + 719_468;
        let era = days / 146_097;
        let of_era = days % 146_097;
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        Some(Self { year, month, day })
    }

    fn put(&self, out: &mut Vec<u8>) {
        two(self.year / 100, out);
        two(self.year % 100, out);
        out.push(b'-');
        two(self.month, out);
        out.push(b'-');
        two(self.day, out);
    }
}

struct Clock {
    hour: u32,
    minute: u32,
    second: u32,
    microsecond: u32,
}

impl Clock {
    /// What is left of `micros` beside whole days.
    fn of(micros: i128) -> Self {
        let micros = micros.rem_euclid(DAY_MICROSECONDS) as u64;
        let seconds = (micros / 1_000_000) as u32;
        Self {
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            microsecond: (micros % 1_000_000) as u32,
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        if self.hour < 10 {
            out.push(b'0');
        }
        self.put_unpadded(out);
    }

    fn put_unpadded(&self, out: &mut Vec<u8>) {
        if self.hour < 10 {
            out.push(b'0' + self.hour as u8);
        } else {
            two(self.hour.into(), out);
        }
        out.push(b':');
        two(self.minute.into(), out);
        out.push(b':');
        two(self.second.into(), out);
        if self.microsecond != 0 {
            put!(out, ".{:06}", self.microsecond);
        }
    }

    /// The arguments of `repr`, which leaves out seconds and microseconds that are zero, and the closing parenthesis.
    fn put_arguments(&self, out: &mut Vec<u8>) {
        put!(out, "{}, {}", self.hour, self.minute);
        if self.second != 0 || self.microsecond != 0 {
            put!(out, ", {}", self.second);
        }
        if self.microsecond != 0 {
            put!(out, ", {}", self.microsecond);
        }
        out.push(b')');
    }
}

/// The date and the time of day of a value counted from 1970-01-01.
fn moment(value: i64, unit: TimeUnit) -> Result<(Date, Clock)> {
    let micros = microseconds(value, unit)?;
    let days = i64::try_from(micros.div_euclid(DAY_MICROSECONDS)).ok();
    let date = days.and_then(Date::of).ok_or_else(|| out_of_years(value, name(unit)))?;
    Ok((date, Clock::of(micros)))
}

fn microseconds(value: i64, unit: TimeUnit) -> Result<i128> {
    let wide = i128::from(value);
    match unit {
        TimeUnit::Second => Ok(wide * 1_000_000),
        TimeUnit::Millisecond => Ok(wide * 1000),
        TimeUnit::Microsecond => Ok(wide),
        TimeUnit::Nanosecond if value % 1000 == 0 => Ok(wide / 1000),
        TimeUnit::Nanosecond => Err(Error::render(
            Code::UnconvertibleValue,
            format!("{value} nanoseconds are no whole microseconds, which is all that Python's datetime holds"),
        )),
    }
}

fn out_of_years(value: i64, unit: &str) -> Error {
    Error::render(
        Code::UnconvertibleValue,
        format!("{value} {unit} from 1970-01-01 lie outside the years 1 to 9999 of Python's datetime"),
    )
}

fn name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    }
}

/// Appends a number below 100 as two digits.
fn two(number: i64, out: &mut Vec<u8>) {
    out.push(b'0' + (number / 10) as u8);
    out.push(b'0' + (number % 10) as u8);
}
