//! A JSON reader over one line's bytes: nothing is copied, nothing allocated, and depth is a loop, not a recursion.
//!
//! It refuses what readers of JSON disagree about (a lone surrogate, a raw NUL, a leading zero), so that a line means
//! the same to everyone or nothing to us.

/// The bytes aren't JSON, or not what was asked for there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bad;

type Result<T> = std::result::Result<T, Bad>;

/// Deepest nesting that is stepped over: one bit each of the stack in [`Cursor::skip`].
const DEEPEST: u32 = u64::BITS;

/// A place in the bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The beginning of a line, which must be UTF-8 throughout.
    pub(crate) fn new(line: &'a [u8]) -> Result<Self> {
        std::str::from_utf8(line).map_err(|_| Bad)?;
        Ok(Cursor { bytes: line, at: 0 })
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

    /// Whether a `null` stood here, which says the same as a key left out.
    pub(crate) fn null(&mut self) -> Result<bool> {
        if self.peek() == Some(b'n') { self.word(b"null").map(|()| true) } else { Ok(false) }
    }

    /// An object: calls with each key, escapes and all, to read its value.
    pub(crate) fn object(&mut self, mut each: impl FnMut(&mut Self, &'a [u8]) -> Result<()>) -> Result<()> {
        self.expect(b'{')?;
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            each(self, key)?;
            if !self.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// An array: calls at each value, to read it.
    pub(crate) fn array(&mut self, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.eat(b',') {
                return self.expect(b']');
            }
        }
    }

    fn key(&mut self) -> Result<&'a [u8]> {
        let key = self.string()?;
        self.expect(b':')?;
        Ok(key)
    }

    /// A string's bytes as they stand, escapes and all: no word we know has one.
    pub(crate) fn string(&mut self) -> Result<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            match self.bytes.get(self.at).ok_or(Bad)? {
                b'"' => break,
                b'\\' => self.escape()?,
                0..0x20 => return Err(Bad),
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.bytes.get(start..self.at - 1).ok_or(Bad)
    }

    fn escape(&mut self) -> Result<()> {
        match self.bytes.get(self.at + 1).ok_or(Bad)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => match self.code_unit()? {
                // A high surrogate and then a low one are one character; either alone is none.
                0xd800..0xdc00 => match self.code_unit()? {
                    0xdc00..0xe000 => {}
                    _ => return Err(Bad),
                },
                0xdc00..0xe000 => return Err(Bad),
                _ => {}
            },
            _ => return Err(Bad),
        }
        Ok(())
    }

    /// The number of a `\uXXXX` that stands here.
    fn code_unit(&mut self) -> Result<u32> {
        let escape = self.bytes.get(self.at..self.at + 6).ok_or(Bad)?;
        let digits = escape.strip_prefix(b"\\u").ok_or(Bad)?;
        self.at += 6;
        digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?)).ok_or(Bad)
    }

    /// A number's text, checked against the grammar (RFC 8259 section 6).
    pub(crate) fn number(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        self.at += usize::from(self.next_is(b"-"));
        let whole = self.at;
        if self.digits()? > 1 && self.bytes.get(whole) == Some(&b'0') {
            return Err(Bad);
        }
        if self.next_is(b".") {
            self.at += 1;
            self.digits()?;
        }
        if self.next_is(b"eE") {
            self.at += 1;
            self.at += usize::from(self.next_is(b"+-"));
            self.digits()?;
        }
        self.bytes.get(start..self.at).and_then(|text| std::str::from_utf8(text).ok()).ok_or(Bad)
    }

    fn next_is(&self, any_of: &[u8]) -> bool {
        self.bytes.get(self.at).is_some_and(|byte| any_of.contains(byte))
    }

    /// Steps over digits, one at least, and says how many.
    fn digits(&mut self) -> Result<usize> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        if count > 0 { Ok(count) } else { Err(Bad) }
    }

    fn word(&mut self, word: &[u8]) -> Result<()> {
        let there = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        self.at += word.len();
        if there { Ok(()) } else { Err(Bad) }
    }

    /// Steps over a value, however deep up to [`DEEPEST`].
    pub(crate) fn skip(&mut self) -> Result<()> {
        // What is open around this place, innermost last: 1 an object, 0 an array.
        let (mut open, mut depth) = (0_u64, 0);
        loop {
            let opened = match self.peek().ok_or(Bad)? {
                first @ (b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                    open = (open << 1) | u64::from(first == b'{');
                    depth <= DEEPEST
                }
                b'"' => self.string().map(|_| false)?,
                b't' => self.word(b"true").map(|()| false)?,
                b'f' => self.word(b"false").map(|()| false)?,
                b'n' => self.word(b"null").map(|()| false)?,
                _ => self.number().map(|_| false)?,
            };
            if depth > DEEPEST {
                return Err(Bad);
            }
            let close = |open: u64| if open & 1 == 1 { b'}' } else { b']' };
            if opened && self.peek() != Some(close(open)) {
                if open & 1 == 1 {
                    self.key()?;
                }
                continue;
            }
            // A value has ended, or an empty object or array is about to.
            let mut after_value = !opened;
            loop {
                if depth == 0 {
                    return Ok(());
                }
                if after_value && self.eat(b',') {
                    if open & 1 == 1 {
                        self.key()?;
                    }
                    break;
                }
                self.expect(close(open))?;
                (open, depth, after_value) = (open >> 1, depth - 1, true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &[u8]) -> Result<()> {
        let mut cursor = Cursor::new(text)?;
        cursor.skip()?;
        cursor.end()
    }

    #[test]
    fn a_value_is_stepped_over_only_whole() {
        for good in [
            "{}",
            "[]",
            "[[],{}]",
            r#"{"a":[1,-2.5e3,null,true,false,"x\"y"],"b":{"c":{}}}"#,
            " 1 ",
            r#""\\""#,
            r#""\ud83d\ude00""#,
            "[{\"a\":[]},[[1],2]]",
        ] {
            assert_eq!(whole(good.as_bytes()), Ok(()), "{good}");
        }
        for bad in [
            "",
            "{",
            "[1",
            "[1,]",
            "[,1]",
            "[,]",
            "{,}",
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
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\ud800""#,
            r#""\ud800x""#,
            "01",
            "-",
            "1.",
            "1e",
            ".5",
            "+1",
            "NaN",
            "[}",
            "{]",
            "{}{}",
            "[1}",
            "{\"a\":1]",
            "\"\0\"",
            "\0{}",
        ] {
            assert_eq!(whole(bad.as_bytes()), Err(Bad), "{bad:?}");
        }
        assert_eq!(whole(b"\"\xff\""), Err(Bad), "not UTF-8");
    }

    #[test]
    fn depth_ends_in_a_refusal_not_in_a_fault() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert_eq!(whole(&nested(64)), Ok(()));
        assert_eq!(whole(&nested(65)), Err(Bad));
        assert_eq!(whole(&vec![b'['; 100_000]), Err(Bad));
        assert_eq!(whole("{\"a\":".repeat(30_000).as_bytes()), Err(Bad));
    }
}
