//! How far files have been read, as it stands in a look's own line: what was counted and up to where are one write.

use std::fmt;

use crate::lines::{Identity, Progress};

/// The most files of one agent that are followed at once, moved aside and still written to included.
pub(crate) const MOST_FILES: usize = 8;

/// How far the files behind one place have been read: the file itself, and those it was moved aside to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions(pub(crate) Vec<Position>);

/// How far one file has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub file: Identity,
    pub progress: Progress,
}

impl Positions {
    /// Whether nothing has been read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As texts: each hexadecimal numbers with points between, since JavaScript's numbers are too short for them.
    pub fn to_texts(&self) -> Vec<String> {
        self.0.iter().map(Position::to_string).collect()
    }

    /// From texts; one that is none is left out, and its file is read from the beginning.
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Positions {
        Positions(texts.into_iter().filter_map(Position::from_text).take(MOST_FILES).collect())
    }

    pub(crate) fn of(&self, file: Identity) -> Option<Progress> {
        self.0.iter().find(|position| position.file == file).map(|position| position.progress)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Identity { device, inode, born_ns }, Progress { offset, mark, skipping }) = (self.file, self.progress);
        write!(f, "{device:x}.{inode:x}.{born_ns:x}.{offset:x}.{mark:x}{}", if skipping { ".s" } else { "" })
    }
}

impl Position {
    fn from_text(text: &str) -> Option<Position> {
        let (numbers, skipping) = text.strip_suffix(".s").map_or((text, false), |numbers| (numbers, true));
        let mut numbers = numbers.split('.').map(|number| u64::from_str_radix(number, 16).ok());
        let mut next = || numbers.next().flatten();
        let file = Identity { device: next()?, inode: next()?, born_ns: next()? };
        let progress = Progress { offset: next()?, mark: next()?, skipping };
        numbers.next().is_none().then_some(Position { file, progress })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_the_same_after_its_text() {
        for skipping in [false, true] {
            let file = Identity { device: 0xfe01, inode: u64::MAX, born_ns: 0 };
            let position = Position { file, progress: Progress { offset: 1 << 60, mark: 7, skipping } };
            let positions = Positions(vec![position, position]);
            let texts = positions.to_texts();
            assert_eq!(Positions::from_texts(texts.iter().map(String::as_str)), positions);
        }
        for bad in ["", "1.2.3.4", "1.2.3.4.5.6", "1.2.3.4.x", "1.2.3.4.5.s.s", "-1.2.3.4.5", "1..3.4.5"] {
            assert_eq!(Positions::from_texts([bad]), Positions::default(), "{bad}");
        }
    }
}
