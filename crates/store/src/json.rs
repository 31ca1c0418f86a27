//! A JSON reader over bytes, just as much as a line of the store needs: nothing is kept that isn't asked for.
//!
//! A day of twenty agents is some fifteen megabytes of lines, read while a person waits; a tree of values would cost
//! many times the reading.

use crate::digits::{are_numbers, short_decimal};

/// The bytes aren't JSON, or not what was asked for there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bad;

type Result<T> = std::result::Result<T, Bad>;

/// Deepest nesting that is stepped over.
const DEEPEST: u32 = 64;

/// A place in the bytes.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// The next byte that isn't white space, still to be read.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { Err(Bad) }
    }

    /// Nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { Err(Bad) }
    }

    /// An object: calls with each key, to read its value.
    pub(crate) fn object(&mut self, mut each: impl FnMut(&mut Self, &'a [u8]) -> Result<()>) -> Result<()> {
        self.expect(b'{')?;
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            each(self, key)?;
            if !self.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// An array: calls with each place, to read what is there.
    pub(crate) fn array(&mut self, mut each: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        if self.eat(b']') {
            return Ok(());
        }
        for place in 0.. {
            each(self, place)?;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')
    }

    /// A string's bytes as they stand, escapes and all: no name or key of ours has one.
    pub(crate) fn string(&mut self) -> Result<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).ok_or(Bad)?;
            match self.bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => return Err(Bad),
            }
        }
        self.at += 1;
        self.bytes.get(start..self.at - 1).ok_or(Bad)
    }

    fn escape(&mut self) -> Result<()> {
        let hex = match self.bytes.get(self.at + 1).ok_or(Bad)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 0,
            b'u' => 4,
            _ => return Err(Bad),
        };
        self.at += 2;
        let digits = self.bytes.get(self.at..self.at + hex).ok_or(Bad)?;
        self.at += hex;
        if digits.iter().all(u8::is_ascii_hexdigit) { Ok(()) } else { Err(Bad) }
    }

    /// A string as text.
    pub(crate) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.string()?).map_err(|_| Bad)
    }

    /// A number of zero or more as a whole number of `10^-decimals`, to the nearest. `None`: null, or less than zero.
    pub(crate) fn decimal(&mut self, decimals: u32) -> Result<Option<u64>> {
        if self.peek() == Some(b'n') {
            return self.word(b"null").map(|()| None);
        }
        let Some((value, len)) = self.bytes.get(self.at..).and_then(|rest| short_decimal(rest, decimals)) else {
            return self.any_decimal(decimals);
        };
        self.at += len;
        Ok(Some(value))
    }

    fn any_decimal(&mut self, decimals: u32) -> Result<Option<u64>> {
        let start = self.at;
        let digits = self.bytes.get(start + usize::from(self.bytes.get(start) == Some(&b'-'))..).unwrap_or_default();
        if matches!(digits, [b'0', b'0'..=b'9', ..]) {
            return Err(Bad);
        }
        let mut whole = self.digits(0, u32::MAX).ok_or(Bad).or_else(|bad| self.negative().ok_or(bad))?.0;
        let mut left = decimals;
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            let (with_fraction, read) = self.digits(whole, decimals).ok_or(Bad)?;
            whole = with_fraction;
            left = decimals - read.min(decimals);
        }
        whole = whole.saturating_mul(10_u64.pow(left));
        let simple = self.bytes.get(start) != Some(&b'-') && !matches!(self.bytes.get(self.at), Some(b'e' | b'E'));
        if simple { Ok(Some(whole)) } else { self.any_number(start, decimals) }
    }

    /// Reads digits onto a number, keeping at most `most` and rounding by the next. `None`: there is none.
    fn digits(&mut self, mut onto: u64, most: u32) -> Option<(u64, u32)> {
        let mut read = 0;
        while let Some(digit) = self.bytes.get(self.at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            if read < most {
                onto = onto.saturating_mul(10).saturating_add(u64::from(digit));
            } else if read == most {
                onto = onto.saturating_add(u64::from(digit >= 5));
            }
            read += 1;
            self.at += 1;
        }
        (read > 0).then_some((onto, read))
    }

    /// Steps over a minus and the digits after it.
    fn negative(&mut self) -> Option<(u64, u32)> {
        (self.bytes.get(self.at) == Some(&b'-')).then(|| self.at += 1)?;
        self.digits(0, u32::MAX)
    }

    /// The spellings that no writer of ours uses: a sign, an exponent.
    fn any_number(&mut self, start: usize, decimals: u32) -> Result<Option<u64>> {
        while matches!(self.bytes.get(self.at), Some(b'0'..=b'9' | b'e' | b'E' | b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        let text = self.bytes.get(start..self.at).and_then(|bytes| std::str::from_utf8(bytes).ok()).ok_or(Bad)?;
        let value: f64 = text.parse().map_err(|_| Bad)?;
        let scaled = (value * 10_f64.powi(decimals.cast_signed())).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` stops at both ends, as wanted"
        )]
        Ok((scaled >= 0.0).then_some(scaled as u64))
    }

    fn word(&mut self, word: &[u8]) -> Result<()> {
        let there = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        self.at += word.len();
        if there { Ok(()) } else { Err(Bad) }
    }

    /// Steps over a value and gives its bytes.
    pub(crate) fn skip(&mut self) -> Result<&'a [u8]> {
        self.peek();
        let start = self.at;
        self.skip_within(DEEPEST)?;
        self.bytes.get(start..self.at).ok_or(Bad)
    }

    /// Steps over a text, if that is what stands here.
    fn eat_all<const N: usize>(&mut self, text: &[u8; N]) -> bool {
        let there = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) == Some(text);
        self.at += if there { N } else { 0 };
        there
    }

    /// Steps over a unit that is as we write it, says no names, and whose ID isn't wanted. Else it stays where it is.
    pub(crate) fn skip_unit(&mut self, wanted: impl Fn(&[u8]) -> bool) -> bool {
        let start = self.at;
        let is_skipped =
            self.eat_all(b"{\"id\":") && self.string().is_ok_and(|id| !wanted(id)) && self.skip_values_and_turns();
        if !is_skipped {
            self.at = start;
        }
        is_skipped
    }

    fn skip_values_and_turns(&mut self) -> bool {
        if self.eat_all(b",\"v\":") && !self.skip_numbers() {
            return false;
        }
        if self.eat_all(b",\"e\":{") {
            while self.string().is_ok() && self.eat_all(b":") && self.skip_numbers() {
                if self.eat_all(b"}}") {
                    return true;
                }
                if !self.eat_all(b",") {
                    break;
                }
            }
            return false;
        }
        self.eat_all(b"}")
    }

    /// Steps over an array if it is one of numbers and nulls as we write them, and it isn't empty.
    fn skip_numbers(&mut self) -> bool {
        let Some((b'[', rest)) = self.bytes.get(self.at..).and_then(<[u8]>::split_first) else { return false };
        let Some(len) = memchr::memchr(b']', rest) else { return false };
        let is_plain = are_numbers(rest.get(..len).unwrap_or_default());
        self.at += if is_plain { len + 2 } else { 0 };
        is_plain
    }

    fn skip_within(&mut self, deep: u32) -> Result<()> {
        let deeper = deep.checked_sub(1).ok_or(Bad)?;
        match self.peek().ok_or(Bad)? {
            b'{' => self.object(|at, _| at.skip_within(deeper)),
            b'[' if self.skip_numbers() => Ok(()),
            b'[' => self.array(|at, _| at.skip_within(deeper)),
            b'"' => self.string().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            _ => self.decimal(0).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str, decimals: u32) -> Result<Option<u64>> {
        let mut cursor = Cursor::new(text.as_bytes());
        let value = cursor.decimal(decimals)?;
        cursor.end().map(|()| value)
    }

    #[test]
    fn a_number_is_read_to_the_nearest_whole_of_its_decimals() {
        assert_eq!(decimal("0", 6), Ok(Some(0)));
        assert_eq!(decimal("5321.37", 6), Ok(Some(5_321_370_000)));
        assert_eq!(decimal("0.0000005", 6), Ok(Some(1)));
        assert_eq!(decimal("9.9999999", 6), Ok(Some(10_000_000)));
        assert_eq!(decimal("1.5", 0), Ok(Some(2)));
        assert_eq!(decimal("18446744073709551615", 0), Ok(Some(u64::MAX)));
        assert_eq!(decimal("99999999999999999999", 0), Ok(Some(u64::MAX)));
        assert_eq!(decimal("1e3", 3), Ok(Some(1_000_000)));
        assert_eq!(decimal("2.5E-1", 3), Ok(Some(250)));
        assert_eq!(decimal("1e308", 0), Ok(Some(u64::MAX)));
        assert_eq!(decimal("-3", 0), Ok(None));
        assert_eq!(decimal("null", 0), Ok(None));
        // The end of the bytes close behind a number makes it none of the short ones: each is read both ways.
        for (text, decimals, value) in [
            ("7", 0, 7),
            ("12345678", 0, 12_345_678),
            ("123456789", 6, 123_456_789_000_000),
            ("1234567890123456", 0, 1_234_567_890_123_456),
            ("12345678901234567", 0, 12_345_678_901_234_567),
            ("9999999999999999", 6, u64::MAX),
            ("5321.370001", 6, 5_321_370_001),
            ("0.5", 3, 500),
            ("3.25", 1, 33),
            ("3.1234567", 6, 3_123_457),
            ("3.12345678", 6, 3_123_457),
            ("9.9999999", 6, 10_000_000),
        ] {
            let list = format!("[{text},{text}                ]");
            let mut cursor = Cursor::new(list.as_bytes());
            let mut read = Vec::new();
            assert_eq!(cursor.array(|at, _| at.decimal(decimals).map(|value| read.push(value))), Ok(()), "{text}");
            assert_eq!(read, [Some(value); 2], "{text}");
            assert_eq!(decimal(text, decimals), Ok(Some(value)), "{text}");
        }
        for bad in ["", "-", ".5", "1.", "1.x", "nul", "1e", "NaN", "Infinity", "--1", "0x1", "01", "-01"] {
            assert_eq!(decimal(bad, 6), Err(Bad), "{bad}");
        }
    }

    #[test]
    fn a_value_is_stepped_over_only_whole() {
        for good in ["{}", "[]", r#"{"a":[1,-2.5e3,null,true,false,"x\"y"],"b":{"c":{}}}"#, " 1 ", r#""\\""#] {
            let mut cursor = Cursor::new(good.as_bytes());
            assert_eq!(cursor.skip().and_then(|_| cursor.end()), Ok(()), "{good}");
        }
        for bad in [
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "\"x",
            "\"x\\\"",
            "tru",
            "[1 2]",
            "\"\n\"",
            r#""\x""#,
            r#""\u12g4""#,
            "",
        ] {
            let mut cursor = Cursor::new(bad.as_bytes());
            assert_eq!(cursor.skip().and_then(|_| cursor.end()), Err(Bad), "{bad}");
        }
        // An array of numbers is stepped over where an array of anything would be, and nowhere else.
        let numbers = [
            "0", "7", "10", "1.5", "0.25", "null", "-1", "1e3", "01", "1.", ".5", "nul", "", "1 ", "x", "\"]\"", "[2]",
        ];
        for (first, second) in numbers.iter().flat_map(|first| numbers.map(|second| (first, second))) {
            let text = format!("[{first},{second}]");
            let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            let mut cursor = Cursor::new(text.as_bytes());
            assert_eq!(cursor.skip().and_then(|_| cursor.end()).is_ok(), is_json, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(Cursor::new(deep.as_bytes()).skip(), Err(Bad));
    }
}
