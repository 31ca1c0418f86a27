//! Which file a look goes to: an hour of UTC for looks, a day of UTC for minutes.
//!
//! UTC because a local hour may occur twice or never. A span never goes back: an hour that was compressed is not
//! opened again by a clock set back.

/// One of the store's two folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Every look, a file an hour.
    Fine,
    /// A summary of each minute, a file a day.
    Minutes,
}

/// A file's span: how many of its part's lengths since 1970 it begins.
pub(crate) type Span = u64;

/// Milliseconds of a minute.
pub(crate) const MINUTE_MS: u64 = 60_000;
/// Milliseconds of an hour.
pub(crate) const HOUR_MS: u64 = 60 * MINUTE_MS;
/// Milliseconds of a day.
pub(crate) const DAY_MS: u64 = 24 * HOUR_MS;

/// How far the newest span may lie ahead of the clock before it is no longer held on to, in spans of its part: a clock
/// set back by a zone or a day goes on in the newest file, one that had been years ahead must not write one file for
/// years.
const fn furthest_ahead(part: Part) -> u64 {
    match part {
        Part::Fine => 26,
        Part::Minutes => 2,
    }
}

impl Part {
    /// Both.
    pub(crate) const BOTH: [Part; 2] = [Part::Fine, Part::Minutes];

    /// The folder's name.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Part::Fine => "fine",
            Part::Minutes => "minutes",
        }
    }

    /// How long a span is, in milliseconds.
    pub(crate) const fn span_ms(self) -> u64 {
        match self {
            Part::Fine => HOUR_MS,
            Part::Minutes => DAY_MS,
        }
    }

    /// The span a moment lies in.
    pub(crate) const fn span_of(self, at_ms: u64) -> Span {
        at_ms / self.span_ms()
    }

    /// The span to write a look of `at_ms` to, after one of `last_ms` went to `newest`.
    pub(crate) fn next_span(self, newest: Span, last_ms: u64, at_ms: u64) -> Span {
        let own = self.span_of(at_ms);
        if own >= newest || newest - own <= furthest_ahead(self) || own == self.span_of(last_ms) {
            own.max(newest)
        } else {
            newest + 1
        }
    }

    /// A span's name, which is its file's without the ending: `2026-11-30-21`, `2026-11-30`.
    pub(crate) fn name(self, span: Span) -> String {
        let (year, month, day) = date(span * self.span_ms() / DAY_MS);
        match self {
            Part::Fine => format!("{year:04}-{month:02}-{day:02}-{:02}", span % 24),
            Part::Minutes => format!("{year:04}-{month:02}-{day:02}"),
        }
    }

    /// The span of a name.
    pub(crate) fn parse(self, name: &str) -> Option<Span> {
        let mut words = name.splitn(4, '-').map(|word| word.parse::<u64>().ok());
        let days = days(words.next()??, words.next()??, words.next()??)?;
        let span = match (self, words.next()) {
            (Part::Fine, Some(Some(hour))) => days * 24 + hour,
            (Part::Minutes, None) => days,
            _ => return None,
        };
        // Only the one spelling, so that no two files are one span.
        (self.name(span) == name).then_some(span)
    }
}

/// Year, month and day of a day since 1970 (Howard Hinnant's `civil_from_days`, for days that aren't before it).
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// The day since 1970 of a date, `None` outside 1970 to 9999.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_utc_dates_and_are_found_again() {
        for (ms, hour, day) in [
            (0, "1970-01-01-00", "1970-01-01"),
            (951_782_400_000, "2000-02-29-00", "2000-02-29"),
            (1_796_072_399_999, "2026-11-30-20", "2026-11-30"),
            (1_796_072_400_000, "2026-11-30-21", "2026-11-30"),
            (4_107_542_400_000, "2100-03-01-00", "2100-03-01"),
        ] {
            assert_eq!(Part::Fine.name(Part::Fine.span_of(ms)), hour);
            assert_eq!(Part::Minutes.name(Part::Minutes.span_of(ms)), day);
        }
        for day in 0..80_000 {
            assert_eq!(Part::Minutes.parse(&Part::Minutes.name(day)), Some(day));
        }
    }

    #[test]
    fn only_a_date_that_is_one_is_a_span() {
        for name in ["2026-02-30", "2026-1-01", "2026-13-01", "1969-12-31", "2026-11-30-21", "", "x", "2026-11--1"] {
            assert_eq!(Part::Minutes.parse(name), None, "{name}");
        }
        for name in ["2026-11-30-24", "2026-11-30", "2026-11-30-021", "2026-11-30-2a", "+026-11-30-21"] {
            assert_eq!(Part::Fine.parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_clock_set_back_goes_on_in_the_newest_span() {
        let at = 1_796_072_400_000;
        let newest = Part::Fine.span_of(at);
        for back in [HOUR_MS, DAY_MS] {
            assert_eq!(Part::Fine.next_span(newest, at, at - back), newest);
        }
        assert_eq!(Part::Fine.next_span(newest, at, at + HOUR_MS), newest + 1);
    }

    #[test]
    fn a_clock_that_was_years_ahead_gets_a_file_an_hour_again() {
        let (ahead, now) = (Part::Fine.span_of(2_111_000_400_000), 1_796_072_400_000);
        let next = Part::Fine.next_span(ahead, 2_111_000_400_000, now);
        assert_eq!(next, ahead + 1);
        assert_eq!(Part::Fine.next_span(next, now, now + 10_000), next);
        assert_eq!(Part::Fine.next_span(next, now, now + HOUR_MS), next + 1);
    }
}
