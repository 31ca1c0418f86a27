//! A JSON number read digit by digit, wherever the chunks cut it.

/// The largest number that is still believed to be a count of tokens.
pub(crate) const BILLION: u64 = 1_000_000_000;

/// Significant digits kept: enough for every count that is believed, few enough that `u64` holds them.
const KEPT: u32 = 18;

/// What a number says as a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// A whole number from 0 to a billion, however it was written (`12`, `12.0`, `1.2e1`).
    Is(u32),
    /// More than a billion.
    Over,
    /// Negative or not whole.
    Not,
}

/// Where in the grammar of RFC 8259 section 6 the number stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    ESign,
    Exponent,
}

/// A number under way. Its value is `mantissa × 10^(zeros + scale + exponent)`: zeros are put in only when a digit
/// follows them, so that the mantissa never ends in one and a value is whole exactly when that power isn't negative.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    step: Step,
    negative: bool,
    mantissa: u64,
    kept: u32,
    zeros: i64,
    scale: i64,
    /// A digit that isn't zero came after the kept ones.
    longer: bool,
    exponent: i64,
    exponent_negative: bool,
}

impl Number {
    /// A number that begins with `byte`, which is `-` or a digit.
    pub(crate) fn begin(byte: u8) -> Number {
        let mut number = Number {
            step: Step::Minus,
            negative: byte == b'-',
            mantissa: 0,
            kept: 0,
            zeros: 0,
            scale: 0,
            longer: false,
            exponent: 0,
            exponent_negative: false,
        };
        if byte != b'-' {
            number.first_digit(byte);
        }
        number
    }

    /// Takes the bytes that belong to the number and says how many those were; `None` where the grammar breaks.
    /// Fewer than all means the number has ended.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            match (self.step, byte) {
                (Step::Minus, b'0'..=b'9') => self.first_digit(byte),
                (Step::Whole, b'0'..=b'9') => self.digit(byte, 0),
                (Step::Point | Step::Fraction, b'0'..=b'9') => {
                    self.step = Step::Fraction;
                    self.digit(byte, 1);
                }
                (Step::Zero | Step::Whole, b'.') => self.step = Step::Point,
                (Step::Zero | Step::Whole | Step::Fraction, b'e' | b'E') => self.step = Step::E,
                (Step::E, b'+' | b'-') => {
                    self.exponent_negative = byte == b'-';
                    self.step = Step::ESign;
                }
                (Step::E | Step::ESign | Step::Exponent, b'0'..=b'9') => {
                    self.step = Step::Exponent;
                    self.exponent = self.exponent.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
                }
                (Step::Zero | Step::Whole | Step::Fraction | Step::Exponent, _) => return Some(at),
                _ => return None,
            }
        }
        Some(bytes.len())
    }

    /// What the number, now at its end, says as a count.
    pub(crate) fn count(&self) -> Count {
        if self.mantissa == 0 {
            return Count::Is(0);
        }
        if self.negative {
            return Count::Not;
        }
        let exponent = if self.exponent_negative { self.exponent.saturating_neg() } else { self.exponent };
        let power = (self.zeros + self.scale).saturating_add(exponent);
        if i64::from(self.kept).saturating_add(power) > 10 {
            return Count::Over;
        }
        // At most ten digits stand before the point, so a power of zero or more has at most nine places.
        let places = u32::try_from(power.unsigned_abs()).unwrap_or(u32::MAX);
        let (value, whole) = if power >= 0 {
            (self.mantissa.saturating_mul(10_u64.saturating_pow(places)), !self.longer)
        } else {
            (self.mantissa.checked_div(10_u64.saturating_pow(places)).unwrap_or(0), false)
        };
        match u32::try_from(value) {
            Ok(count) if value <= BILLION && whole => Count::Is(count),
            _ if value > BILLION || (value == BILLION && !whole) => Count::Over,
            _ => Count::Not,
        }
    }

    fn first_digit(&mut self, byte: u8) {
        self.step = if byte == b'0' { Step::Zero } else { Step::Whole };
        self.digit(byte, 0);
    }

    /// `places` is 1 after the point, else 0.
    fn digit(&mut self, byte: u8, places: i64) {
        let digit = u64::from(byte - b'0');
        self.scale -= places;
        if digit == 0 {
            self.zeros += i64::from(self.mantissa != 0);
            return;
        }
        let fitting = u32::try_from(self.zeros).ok().filter(|zeros| !self.longer && self.kept + zeros < KEPT);
        if let Some(zeros) = fitting {
            self.mantissa = self.mantissa * 10_u64.pow(zeros + 1) + digit;
            self.kept += zeros + 1;
            self.zeros = 0;
        } else {
            self.longer = true;
            self.zeros += 1;
        }
    }
}

/// The length of the number `bytes` begin with, if it ends within them; `None` also where the grammar breaks, which the
/// slower way then finds. Embedding answers are megabytes of numbers nobody wants the value of.
pub(crate) fn length_of_complete(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())
    };
    let whole = usize::from(bytes.first() == Some(&b'-'));
    let mut end = digits(whole);
    if end == whole || (bytes.get(whole) == Some(&b'0') && end > whole + 1) {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        let fraction = end + 1;
        end = digits(fraction);
        if end == fraction {
            return None;
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end = digits(exponent);
        if end == exponent {
            return None;
        }
    }
    (end < bytes.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::{Count, Number, length_of_complete};

    fn count(text: &str) -> Option<Count> {
        let mut number = Number::begin(text.as_bytes()[0]);
        (number.take(&[&text.as_bytes()[1..], b","].concat())? == text.len() - 1).then(|| number.count())
    }

    #[test]
    fn whole_however_written() {
        for text in ["12", "12.0", "1.2e1", "1200e-2", "0.12E+2", "12.000000000000000000000000000", "0.0000012e7"] {
            assert_eq!(count(text), Some(Count::Is(12)), "{text}");
        }
        for text in ["0", "-0", "0.0", "0e999999999999999999999", "-0.0e5"] {
            assert_eq!(count(text), Some(Count::Is(0)), "{text}");
        }
        assert_eq!(count("1000000000"), Some(Count::Is(1_000_000_000)));
        assert_eq!(count("1e9"), Some(Count::Is(1_000_000_000)));
        assert_eq!(count("10203040"), Some(Count::Is(10_203_040)));
    }

    #[test]
    fn past_a_billion_at_any_length() {
        let long = "9".repeat(400);
        let zeros = format!("1{}", "0".repeat(400));
        for text in ["1000000001", "1e10", "18446744073709551616", "1e400", "1000000000.5", &long, &zeros] {
            assert_eq!(count(text), Some(Count::Over), "{text}");
        }
        assert_eq!(count("9e99999999999999999999999"), Some(Count::Over));
    }

    #[test]
    fn negative_or_broken_is_no_count() {
        let small = format!("0.{}1", "0".repeat(400));
        let long = format!("12.{}1", "0".repeat(400));
        for text in ["-3", "12.5", "1e-1", "-5e20", "12.000000000000000000000000001", "5e-99999999999", &small, &long] {
            assert_eq!(count(text), Some(Count::Not), "{text}");
        }
    }

    #[test]
    fn both_ways_of_following_a_number_agree() {
        let texts =
            ["0", "-0", "12", "-3.5", "1e5", "1.5E-7", "-", "01", "1.", "1.e5", "1e", "1e+", "--1", "-a", "1.-"];
        for text in texts {
            let text = format!("{text},");
            let stepwise = Number::begin(text.as_bytes()[0]).take(&text.as_bytes()[1..]).map(|taken| taken + 1);
            let expected = stepwise.filter(|&taken| taken + 1 == text.len());
            assert_eq!(length_of_complete(text.as_bytes()), expected, "{text}");
            assert_eq!(length_of_complete(text.trim_end_matches(',').as_bytes()), None, "{text} may go on");
        }
    }

    #[test]
    fn grammar_breaks() {
        for text in ["-", "01", "1.", "1.e5", "1e", "1e+", "--1", "-a", "1.-"] {
            assert_eq!(count(text), None, "{text}");
        }
    }
}
