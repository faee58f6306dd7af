//! Dates, times, timestamps without zone and durations as Python's `datetime` prints them.
//!
//! Python has whole microseconds and the years 1 to 9999. Other values are errors, as they are in pyarrow if pandas
//! isn't installed.

use std::io::Write as _;

use super::conversion::Conversion;
use super::fill::{Slot, append};
use super::number::{ZEROS, digits_of_twos};
use crate::error::{Code, Error, Result};

/// The number of seconds in a second.
pub(super) const ONE_PER_SECOND: i64 = 1;
/// The number of milliseconds in a second.
pub(super) const MILLISECONDS_PER_SECOND: i64 = 1000;
/// The number of microseconds in a second.
pub(super) const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
/// The number of nanoseconds in a second.
pub(super) const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;
/// The length of a day.
pub(super) const DAY_MILLISECONDS: i64 = 86_400_000;
/// The length of a day.
const DAY_MICROSECONDS: i128 = 86_400_000_000;
/// The length of a day.
const DAY_SECONDS: i64 = 86_400;
/// The days from 1970-01-01 to 0001-01-01 and to 9999-12-31.
const DATE_DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;
/// The largest number of days of a `timedelta`.
const MAX_TIMEDELTA_DAYS: i128 = 999_999_999;

/// Append formatted text; writing into a vector can't fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => { let _ = write!($out, $($format)*); };
}

/// Return the date so many days after 1970-01-01.
///
/// # Errors
///
/// An error if the year isn't 1 to 9999.
#[inline]
pub(super) fn date(days: i64) -> Result<Date> {
    Date::of(days).ok_or_else(|| out_of_years(days, "days"))
}

/// Return the date and the time of day of a value that counts from 1970-01-01 in units of 1 / `PER_SECOND` seconds. It
/// is fast because the compiler knows the unit and turns divisions into multiplications.
///
/// It is used for times of day too: pyarrow converts them by way of a timestamp, so a value outside the day wraps.
///
/// # Errors
///
/// An error if the year isn't 1 to 9999, or if the value isn't whole microseconds.
#[inline]
pub(super) fn timestamp<const PER_SECOND: i64>(value: i64) -> Result<Timestamp> {
    if PER_SECOND > MICROSECONDS_PER_SECOND {
        let parts = PER_SECOND / MICROSECONDS_PER_SECOND;
        if value % parts != 0 {
            return Err(not_whole(value));
        }
        // A finer unit can't reach beyond these years, so the value is converted to microseconds.
        return timestamp::<MICROSECONDS_PER_SECOND>(value / parts);
    }
    let per_day = DAY_SECONDS * PER_SECOND;
    let first = (DATE_DAYS.start() + SHIFT_DAYS) * per_day;
    let past = (DATE_DAYS.end() + 1 + SHIFT_DAYS) * per_day;
    // Counted from 0000-03-01, all of Python's dates are positive, and a value that wraps is outside the range like any
    // other that is too far.
    let shifted = value.wrapping_add(SHIFT_DAYS * per_day);
    if !(first..past).contains(&shifted) {
        return Err(out_of_years(value, name(PER_SECOND)));
    }
    let (shifted, per_day, per_second) = (shifted as u64, per_day as u64, PER_SECOND as u64);
    let (days, of_day) = (shifted / per_day, shifted % per_day);
    let (seconds, rest) = (of_day / per_second, of_day % per_second);
    let microsecond = rest * (MICROSECONDS_PER_SECOND / PER_SECOND) as u64;
    let clock = Clock::of(seconds as u32, microsecond as u32);
    Ok(Timestamp { date: Date::of_shifted(days as u32), clock })
}

/// Append a duration.
///
/// # Errors
///
/// An error if the value isn't whole microseconds, or is longer than a `timedelta` can be.
pub(super) fn duration<const PER_SECOND: i64>(value: i64, conversion: Conversion, out: &mut Vec<u8>) -> Result<()> {
    let micros = i128::from(value) * i128::from(MICROSECONDS_PER_SECOND) / i128::from(PER_SECOND);
    if micros * i128::from(PER_SECOND) != i128::from(value) * i128::from(MICROSECONDS_PER_SECOND) {
        return Err(not_whole(value));
    }
    let days = micros.div_euclid(DAY_MICROSECONDS);
    if days.abs() > MAX_TIMEDELTA_DAYS {
        return Err(Error::render(
            Code::UnconvertibleValue,
            format!("the duration {value} {} is longer than {MAX_TIMEDELTA_DAYS} days", name(PER_SECOND)),
        ));
    }
    let micros_of_day = micros.rem_euclid(DAY_MICROSECONDS) as u64;
    let clock = Clock::of((micros_of_day / 1_000_000) as u32, (micros_of_day % 1_000_000) as u32);
    match conversion {
        Conversion::Json | Conversion::JsonWithoutNulls => {
            out.push(b'"');
            duration::<PER_SECOND>(value, Conversion::Str, out)?;
            out.push(b'"');
        }
        Conversion::Str => {
            if days != 0 {
                let plural = if days.abs() == 1 { "" } else { "s" };
                put!(out, "{days} day{plural}, ");
            }
            append(out, |slot| clock.put(slot, 0));
            if clock.hour < 10 {
                out.remove(out.len() - clock.len()); // a duration's hours have no leading zero
            }
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

/// A date and a time of day.
#[derive(Clone, Copy, Default)]
pub(super) struct Timestamp {
    date: Date,
    clock: Clock,
}

impl Timestamp {
    /// Put the `str` of the `datetime` into a slot, and return its length.
    #[inline]
    pub(super) fn put(self, slot: &mut Slot) -> usize {
        let end_of_date = self.date.put(slot);
        slot[end_of_date] = b' ';
        self.clock.put(slot, end_of_date + 1)
    }

    /// Do the same for the time of day alone.
    #[inline]
    pub(super) fn put_time(self, slot: &mut Slot) -> usize {
        self.clock.put(slot, 0)
    }

    /// Append the `datetime`.
    pub(super) fn write(self, conversion: Conversion, out: &mut Vec<u8>) {
        write_or_quote(
            conversion,
            out,
            |slot| self.put(slot),
            |out| {
                let Date { year, month, day } = self.date;
                put!(out, "datetime.datetime({year}, {month}, {day}, ");
                self.clock.put_arguments(out);
            },
        );
    }

    /// Append the time of day alone.
    pub(super) fn write_time(self, conversion: Conversion, out: &mut Vec<u8>) {
        write_or_quote(
            conversion,
            out,
            |slot| self.put_time(slot),
            |out| {
                out.extend_from_slice(b"datetime.time(");
                self.clock.put_arguments(out);
            },
        );
    }
}

/// Append the text that `put` puts into a slot, in quotes for JSON, or the text of `repr` instead.
fn write_or_quote(
    conversion: Conversion,
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Slot) -> usize,
    repr: impl FnOnce(&mut Vec<u8>),
) {
    match conversion {
        Conversion::Str => append(out, put),
        Conversion::Json | Conversion::JsonWithoutNulls => {
            out.push(b'"');
            append(out, put);
            out.push(b'"');
        }
        Conversion::Repr => repr(out),
    }
}

/// A date that Python has.
#[derive(Clone, Copy, Default)]
pub(super) struct Date {
    year: u32,
    month: u32,
    day: u32,
}

/// These days are added so that all of Python's dates are positive. They count from a 1 March, whole cycles of 400
/// years before 1970.
const SHIFT_DAYS: i64 = 719_468;
/// The days in a cycle of 400 years.
const CYCLE_DAYS: u32 = 146_097;

impl Date {
    /// Return the date `days` after 1970-01-01, if Python has it.
    ///
    /// The algorithm is from Neri and Schneider, "Euclidean affine functions and their application to calendar
    /// algorithms". Years begin in March, so that a leap day ends its year, and divisions become multiplications whose
    /// upper half is used.
    #[inline]
    fn of(days: i64) -> Option<Self> {
        DATE_DAYS.contains(&days).then(|| Self::of_shifted((days + SHIFT_DAYS) as u32))
    }

    /// Return the date so many days after 0000-03-01, which has to be one that Python has.
    #[inline]
    fn of_shifted(days: u32) -> Self {
        let quarters = 4 * days + 3;
        let (century, of_century) = (quarters / CYCLE_DAYS, (quarters % CYCLE_DAYS) | 3);
        let product = 2_939_745 * u64::from(of_century);
        let (year_of_century, of_year) = ((product >> 32) as u32, product as u32 / 2_939_745 / 4);
        let line = 2141 * of_year + 197_913; // 2¹⁶ a month
        let (month, day) = (line >> 16, (line & 0xffff) / 2141 + 1);
        let next = of_year >= 306; // January and February are the next year's
        let year = 100 * century + year_of_century + u32::from(next);
        Self { year, month: if next { month - 12 } else { month }, day }
    }

    /// Append the `date`.
    pub(super) fn write(self, conversion: Conversion, out: &mut Vec<u8>) {
        write_or_quote(
            conversion,
            out,
            |slot| self.put(slot),
            |out| {
                put!(out, "datetime.date({}, {}, {})", self.year, self.month, self.day);
            },
        );
    }

    /// Put `2024-02-29` at the beginning of a slot, and return its length.
    #[inline]
    pub(super) fn put(self, slot: &mut Slot) -> usize {
        let digits = text_of_twos([self.year / 100, self.year % 100, self.month, self.day]);
        let (year, month, day) = (digits & 0xffff_ffff, (digits >> 32) & 0xffff, digits >> 48);
        let text = year | DASH << 32 | month << 40 | DASH << 56;
        slot[..8].copy_from_slice(&text.to_le_bytes());
        slot[8..10].copy_from_slice(&(day as u16).to_le_bytes());
        10
    }
}

#[derive(Clone, Copy, Default)]
struct Clock {
    hour: u32,
    minute: u32,
    second: u32,
    microsecond: u32,
}

impl Clock {
    #[inline]
    fn of(seconds: u32, microsecond: u32) -> Self {
        Self { hour: seconds / 3600, minute: seconds / 60 % 60, second: seconds % 60, microsecond }
    }

    /// Return the length of the text.
    #[inline]
    fn len(self) -> usize {
        if self.microsecond == 0 { 8 } else { 15 }
    }

    /// Put `01:02:03` or `01:02:03.000004` at `offset`, which has room for it, and return its end.
    #[inline]
    fn put(self, slot: &mut Slot, offset: usize) -> usize {
        let Some(to) = slot.get_mut(offset..).and_then(<[u8]>::first_chunk_mut::<15>) else { return offset };
        let digits = text_of_twos([self.hour, self.minute, self.second, 0]);
        let (hour, minute, second) = (digits & 0xffff, (digits >> 16) & 0xffff, (digits >> 32) & 0xffff);
        let text = hour | COLON << 16 | minute << 24 | COLON << 40 | second << 48;
        to[..8].copy_from_slice(&text.to_le_bytes());
        let (first_two, last_four) = (self.microsecond / 10_000, self.microsecond % 10_000);
        let fraction = POINT | text_of_twos([first_two, last_four / 100, last_four % 100, 0]) << 8;
        to[8..].copy_from_slice(&fraction.to_le_bytes()[..7]);
        offset + self.len()
    }

    /// Put the arguments of `repr`, which omits seconds and microseconds that are zero, and the closing parenthesis.
    fn put_arguments(self, out: &mut Vec<u8>) {
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

#[cold]
fn not_whole(value: i64) -> Error {
    Error::render(
        Code::UnconvertibleValue,
        format!("{value} nanoseconds are no whole microseconds, which is all that Python's datetime holds"),
    )
}

#[cold]
fn out_of_years(value: i64, unit: &str) -> Error {
    Error::render(
        Code::UnconvertibleValue,
        format!("{value} {unit} from 1970-01-01 lie outside the years 1 to 9999 of Python's datetime"),
    )
}

fn name(per_second: i64) -> &'static str {
    match per_second {
        ONE_PER_SECOND => "seconds",
        MILLISECONDS_PER_SECOND => "milliseconds",
        MICROSECONDS_PER_SECOND => "microseconds",
        _ => "nanoseconds",
    }
}

const DASH: u64 = b'-' as u64;
const COLON: u64 = b':' as u64;
const POINT: u64 = b'.' as u64;

/// Return the digits of four numbers below 100, as one byte each, the first in the lowest.
#[inline]
fn text_of_twos([first, second, third, fourth]: [u32; 4]) -> u64 {
    let low = first | second << 16;
    let high = third | fourth << 16;
    digits_of_twos(u64::from(low) | u64::from(high) << 32) | ZEROS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_one_another() {
        let leap = |year: u32| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let length = |year, month| match month {
            2 => 28 + u32::from(leap(year)),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let (mut year, mut month, mut day) = (1, 1, 1);
        for days in DATE_DAYS {
            let date = Date::of(days).unwrap();
            assert_eq!((date.year, date.month, date.day), (year, month, day), "{days}");
            day += 1;
            if day > length(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!(year, 10_000);
        assert!(Date::of(DATE_DAYS.start() - 1).is_none() && Date::of(DATE_DAYS.end() + 1).is_none());
    }
}
