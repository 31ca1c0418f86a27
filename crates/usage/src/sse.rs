//! Server-sent events, byte by byte as the WHATWG's grammar has them, but for one thing: an event at the end of the
//! stream without its empty line counts, since servers leave that line out and clients forgive it.

use memchr::memchr2;

use crate::json::Json;
use crate::place::Reader;

/// Where in a line the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// This many bytes into a field's name, all of them as in `data`.
    Name(usize),
    /// After `data:`, where one space is not part of the value.
    Colon,
    Data,
    /// A comment, or a field that isn't read.
    Other,
}

const DATA: &[u8] = b"data";

impl Line {
    /// Where `byte` leads that comes `length` bytes into a field's name.
    fn after_name(length: usize, byte: Option<u8>) -> Line {
        match byte {
            Some(b':') if length == DATA.len() => Line::Colon,
            byte if byte == DATA.get(length).copied() => Line::Name(length + 1),
            _ => Line::Other,
        }
    }
}

/// The framing of a stream's events, over a machine that reads their data.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    line: Line,
    /// The last byte was a CR: an LF now belongs to it.
    after_cr: bool,
    has_data: bool,
    /// The event's data so far, in bytes.
    data_bytes: u64,
    max_event_bytes: u64,
    json: Json,
}

/// Whether a stretch of bytes ended an event, and how many of them belong to it.
pub(crate) enum Fed {
    EventEnd(usize),
    Open,
}

impl Events {
    pub(crate) fn new(max_event_bytes: u64) -> Events {
        Events {
            line: Line::Name(0),
            after_cr: false,
            has_data: false,
            data_bytes: 0,
            max_event_bytes,
            json: Json::new(false),
        }
    }

    /// Begins at an event's first byte. What was under way yields nothing.
    pub(crate) fn begin_event(&mut self, reader: &mut Reader) {
        self.line = Line::Name(0);
        self.after_cr = false;
        self.has_data = false;
        self.data_bytes = 0;
        self.json.restart(reader);
    }

    /// Begins in the middle of a line that is no field, because blanks stand before it.
    pub(crate) fn begin_in_line(&mut self) {
        self.line = Line::Other;
    }

    /// Reads up to and with the end of the event, or everything if it doesn't end here.
    pub(crate) fn feed(&mut self, bytes: &[u8], reader: &mut Reader) -> Fed {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.after_cr {
                self.after_cr = false;
                if rest.starts_with(b"\n") {
                    at += 1;
                    continue;
                }
            }
            let length = match self.line {
                Line::Name(length) => match rest.first() {
                    Some(b'\n' | b'\r') => Some(0),
                    byte => {
                        self.line = Line::after_name(length, byte.copied());
                        at += 1;
                        continue;
                    }
                },
                Line::Colon => {
                    self.begin_data(reader);
                    at += usize::from(rest.starts_with(b" "));
                    continue;
                }
                Line::Data | Line::Other => memchr2(b'\n', b'\r', rest),
            };
            if self.line == Line::Data {
                self.data(rest.get(..length.unwrap_or(rest.len())).unwrap_or_default(), reader);
            }
            let Some(length) = length else { return Fed::Open };
            self.after_cr = rest.get(length) == Some(&b'\r');
            at += length + 1;
            if self.end_line(reader) {
                return Fed::EventEnd(at);
            }
        }
        Fed::Open
    }

    fn begin_data(&mut self, reader: &mut Reader) {
        if self.has_data {
            // Lines of data are joined by a line end, which is a blank between tokens and not JSON inside a string.
            if self.json.is_in_string() {
                self.json.give_up(reader);
            }
            self.data(b"\n", reader);
        }
        self.has_data = true;
        self.line = Line::Data;
    }

    fn data(&mut self, bytes: &[u8], reader: &mut Reader) {
        if self.json.is_over() {
            return;
        }
        let left = usize::try_from(self.max_event_bytes - self.data_bytes).unwrap_or(usize::MAX);
        self.data_bytes += bytes.len().min(left) as u64;
        self.json.feed(bytes.get(..left).unwrap_or(bytes), reader);
        if bytes.len() > left {
            self.json.give_up(reader);
        }
    }

    /// The line has ended; true if that ends the event.
    fn end_line(&mut self, reader: &mut Reader) -> bool {
        let is_empty = self.line == Line::Name(0);
        if self.line == Line::Name(DATA.len()) {
            // A name without a colon has an empty value.
            self.begin_data(reader);
        }
        self.line = Line::Name(0);
        if is_empty {
            let after_cr = self.after_cr;
            self.begin_event(reader);
            self.after_cr = after_cr;
        }
        is_empty
    }
}
