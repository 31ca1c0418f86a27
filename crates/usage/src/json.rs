//! One machine over JSON text, a byte sequence cut anywhere, that keeps where it is and never what it read.
//!
//! It is strict about everything outside strings, so that what isn't JSON (`NaN`, a trailing comma) yields nothing, and
//! easy on what is inside them: NUL bytes, invalid UTF-8 and lone surrogates pass, since syntax bytes never occur inside
//! a longer UTF-8 sequence. Past [`KINDS`] levels it counts brackets without telling one kind from the other.

use crate::number::{Number, length_of_complete};
use crate::place::{Place, Reader};
use crate::text::closing_quote;

/// Levels whose kind, object or array, is remembered.
const KINDS: u64 = 64;

/// Levels whose place is remembered: no place that is read lies deeper than six.
const PLACES: usize = 8;

/// Longer than every key and every value that is compared.
const CAPTURED: usize = 40;

/// Stands for a character that no known key has.
const STRANGE: u8 = 0xFF;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must come.
    Value,
    /// The first element of an array, or its end.
    FirstElement,
    /// The first key of an object, or its end.
    FirstKey,
    /// A key must come.
    Key,
    Colon,
    /// After a value: a comma or the container's end.
    Next,
    /// In a string that is passed over.
    Text,
    /// In a string that is compared with what is known.
    Capture,
    Number,
    Literal,
    /// Deeper than [`KINDS`].
    Deep,
    /// The one value is complete; what follows is not looked at.
    Done,
    /// Not JSON.
    Dead,
}

/// What a backslash in a captured string has led to so far.
#[derive(Debug, Clone, Copy)]
enum Escape {
    None,
    Begun,
    /// `\u` and this many hexadecimal digits, whose value so far is the second number.
    Unicode(u8, u32),
}

/// A string being compared: its first bytes, unescaped.
#[derive(Debug, Clone)]
struct Captured {
    bytes: [u8; CAPTURED],
    length: usize,
    escape: Escape,
}

impl Captured {
    fn push(&mut self, byte: u8) {
        // One too long is known by nobody; its length says so.
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
        }
        self.length += 1;
    }

    fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The machine. It reads one value, or a sequence of them, and tells its [`Reader`] what stands at which place.
#[derive(Debug, Clone)]
pub(crate) struct Json {
    state: State,
    /// Whether another value may follow the first.
    sequence: bool,
    /// Whether the string under way is a key.
    is_key: bool,
    /// Whether the next byte of a passed-over string is escaped.
    escaped: bool,
    depth: u64,
    /// A bit a level: set for an object.
    objects: u64,
    /// The innermost container's place.
    here: Place,
    /// The place of the value that comes next or is under way.
    next: Place,
    outer: [Place; PLACES],
    captured: Captured,
    number: Number,
    /// What must still come of `true`, `false` or `null`.
    literal: &'static [u8],
}

impl Json {
    /// A machine for one value, or for a sequence of values with blanks between them.
    pub(crate) fn new(sequence: bool) -> Json {
        Json {
            state: State::Value,
            sequence,
            is_key: false,
            escaped: false,
            depth: 0,
            objects: 0,
            here: Place::Skip,
            next: Place::Root,
            outer: [Place::Skip; PLACES],
            captured: Captured { bytes: [0; CAPTURED], length: 0, escape: Escape::None },
            number: Number::begin(b'0'),
            literal: b"",
        }
    }

    /// Begins again: what comes next is a new value. An unfinished one yields nothing.
    pub(crate) fn restart(&mut self, reader: &mut Reader) {
        reader.drop_document();
        self.state = State::Value;
        self.depth = 0;
        self.here = Place::Skip;
        self.next = Place::Root;
        self.escaped = false;
    }

    /// Gives the value under way up: it yields nothing.
    pub(crate) fn give_up(&mut self, reader: &mut Reader) {
        if self.state != State::Done {
            reader.drop_document();
            self.state = State::Dead;
        }
    }

    /// Whether nothing that could still come would be read.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Done | State::Dead)
    }

    /// Whether what was read isn't JSON.
    pub(crate) fn is_dead(&self) -> bool {
        self.state == State::Dead
    }

    /// Whether the next byte would stand inside a string.
    pub(crate) fn is_in_string(&self) -> bool {
        matches!(self.state, State::Text | State::Capture)
    }

    /// Reads on.
    pub(crate) fn feed(&mut self, bytes: &[u8], reader: &mut Reader) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let taken = match self.state {
                State::Done | State::Dead => return,
                State::Text => self.pass_text(rest),
                State::Capture => self.capture(rest, reader),
                State::Number => self.number(rest, reader),
                State::Literal => self.literal(rest),
                State::Deep => self.deep(rest),
                _ => self.syntax(rest, reader),
            };
            match taken {
                Some(taken) => at += taken,
                None => return self.give_up(reader),
            }
        }
    }

    /// Everything between strings, numbers and literals; and numbers that nobody wants, where they are complete.
    fn syntax(&mut self, bytes: &[u8], reader: &mut Reader) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match (self.state, byte) {
                (_, b' ' | b'\n' | b'\r' | b'\t') => {}
                (State::FirstKey | State::Key, b'"') => self.begin_string(true, self.here != Place::Skip),
                (State::FirstKey | State::Next, b'}') => self.close(true, reader)?,
                (State::Colon, b':') => self.state = State::Value,
                (State::Next, b',') if self.is_object() => self.state = State::Key,
                (State::Next, b',') => {
                    self.next = Reader::element(self.here);
                    self.state = State::Value;
                }
                (State::FirstElement | State::Next, b']') => self.close(false, reader)?,
                (State::FirstElement | State::Value, b'-' | b'0'..=b'9') if self.next == Place::Skip => {
                    if let Some(length) = length_of_complete(bytes.get(at..)?) {
                        self.value_ends();
                        at += length;
                        continue;
                    }
                    self.begin_value(byte, reader)?;
                }
                (State::FirstElement | State::Value, _) => self.begin_value(byte, reader)?,
                _ => return None,
            }
            at += 1;
            if !matches!(
                self.state,
                State::Value | State::FirstElement | State::Key | State::Colon | State::Next | State::FirstKey
            ) {
                return Some(at);
            }
        }
        Some(bytes.len())
    }

    fn begin_value(&mut self, byte: u8, reader: &mut Reader) -> Option<()> {
        if self.next != Place::Skip {
            reader.value_begins(self.next);
        }
        match byte {
            b'"' => self.begin_string(false, self.next.is_text()),
            b'{' => self.open(true, reader),
            b'[' => self.open(false, reader),
            b'-' | b'0'..=b'9' => {
                self.number = Number::begin(byte);
                self.state = State::Number;
            }
            b't' => self.begin_literal(b"rue"),
            b'f' => self.begin_literal(b"alse"),
            b'n' => self.begin_literal(b"ull"),
            _ => return None,
        }
        Some(())
    }

    fn begin_literal(&mut self, rest: &'static [u8]) {
        self.literal = rest;
        self.state = State::Literal;
    }

    fn begin_string(&mut self, is_key: bool, compared: bool) {
        self.is_key = is_key;
        self.escaped = false;
        self.captured.length = 0;
        self.captured.escape = Escape::None;
        self.state = if compared { State::Capture } else { State::Text };
    }

    fn open(&mut self, object: bool, reader: &mut Reader) {
        let place = reader.enter(self.next, object);
        if let Some(outer) = usize::try_from(self.depth).ok().and_then(|depth| self.outer.get_mut(depth)) {
            *outer = self.here;
        }
        self.here = place;
        self.depth += 1;
        if self.depth > KINDS {
            self.state = State::Deep;
            return;
        }
        let bit = 1 << (self.depth - 1);
        if object {
            self.objects |= bit;
            self.state = State::FirstKey;
        } else {
            self.objects &= !bit;
            self.next = Reader::element(place);
            self.state = State::FirstElement;
        }
    }

    fn is_object(&self) -> bool {
        self.objects >> (self.depth.saturating_sub(1)) & 1 == 1
    }

    fn close(&mut self, object: bool, reader: &mut Reader) -> Option<()> {
        if self.is_object() != object {
            return None;
        }
        if self.here != Place::Skip {
            reader.leave(self.here);
        }
        self.depth -= 1;
        let depth = usize::try_from(self.depth).ok();
        self.here = depth.and_then(|depth| self.outer.get(depth)).copied().unwrap_or(Place::Skip);
        self.value_ends();
        Some(())
    }

    fn value_ends(&mut self) {
        self.state = match self.depth {
            0 if self.sequence => {
                self.next = Place::Root;
                State::Value
            }
            0 => State::Done,
            1..=KINDS => State::Next,
            _ => State::Deep,
        };
    }

    /// The string under way has ended; its content was not compared with anything.
    fn string_ends(&mut self) {
        if self.is_key {
            self.state = State::Colon;
        } else {
            self.value_ends();
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "one shape for every state's part")]
    fn pass_text(&mut self, bytes: &[u8]) -> Option<usize> {
        let Some(end) = closing_quote(bytes, &mut self.escaped) else { return Some(bytes.len()) };
        self.next = if self.is_key { Place::Skip } else { self.next };
        self.string_ends();
        Some(end + 1)
    }

    fn capture(&mut self, bytes: &[u8], reader: &mut Reader) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            match self.captured.escape {
                Escape::None if byte == b'"' => {
                    if self.is_key {
                        self.next = reader.key(self.here, self.captured.text());
                    } else {
                        reader.text(self.next, self.captured.text());
                    }
                    self.string_ends();
                    return Some(at + 1);
                }
                Escape::None if byte == b'\\' => self.captured.escape = Escape::Begun,
                Escape::None => self.captured.push(byte),
                Escape::Begun if byte == b'u' => self.captured.escape = Escape::Unicode(0, 0),
                Escape::Begun => {
                    // None of the characters these stand for is in a known key, but for the slash in none at all.
                    self.captured.push(STRANGE);
                    self.captured.escape = Escape::None;
                }
                Escape::Unicode(digits, value) => {
                    let value = value * 16 + char::from(byte).to_digit(16)?;
                    self.captured.escape = Escape::Unicode(digits + 1, value);
                    if digits == 3 {
                        self.captured.push(u8::try_from(value).ok().filter(u8::is_ascii).unwrap_or(STRANGE));
                        self.captured.escape = Escape::None;
                    }
                }
            }
        }
        Some(bytes.len())
    }

    fn number(&mut self, bytes: &[u8], reader: &mut Reader) -> Option<usize> {
        let taken = self.number.take(bytes)?;
        if taken < bytes.len() {
            if let Place::Count(field) = self.next {
                reader.count(field, self.number.count());
            }
            self.value_ends();
        }
        Some(taken)
    }

    fn literal(&mut self, bytes: &[u8]) -> Option<usize> {
        let taken = self.literal.len().min(bytes.len());
        let (now, later) = self.literal.split_at(taken);
        if !bytes.starts_with(now) {
            return None;
        }
        self.literal = later;
        if later.is_empty() {
            self.value_ends();
        }
        Some(taken)
    }

    #[expect(clippy::unnecessary_wraps, reason = "one shape for every state's part")]
    fn deep(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'"' => self.begin_string(false, false),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    self.value_ends();
                }
                _ => continue,
            }
            if self.state != State::Deep {
                return Some(at + 1);
            }
        }
        Some(bytes.len())
    }
}
