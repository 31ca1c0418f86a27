//! Names and IDs: the only text there is, and the rule that keeps words out of it.

use std::fmt;
use std::sync::Arc;

/// Longest name or ID, in bytes (all ASCII).
const LONGEST: usize = 64;

/// Keys that would reach an object's prototype in a reader written in JavaScript.
const REFUSED: [&str; 3] = ["__proto__", "constructor", "prototype"];

/// A name or an ID: 1 to 64 of ASCII letters, digits and `._:/@-`.
///
/// Cheap to clone, since every look repeats the same few.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The name, or `None` if it breaks the rule.
    pub fn new(text: &str) -> Option<Name> {
        let fits = (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_name_byte) && !REFUSED.contains(&text);
        fits.then(|| Name(text.into()))
    }

    /// A stable stand-in for a text that breaks the rule: the prefix and eight hexadecimal digits of the text's hash.
    ///
    /// Two different texts stay two different names, and none of the text's own words is kept.
    pub fn stand_in(prefix: &'static str, text: &[u8]) -> Name {
        // FNV-1a: stable over runs and machines, which the standard hasher is not.
        let hash =
            text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3));
        Name(format!("{prefix}-{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff)).into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._:/@-".contains(&byte)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The ID of a unit: the machine's or an agent's name, or `<agent id>/<pid>` of a process, which may be longer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(Arc<str>);

impl UnitId {
    /// The ID of one of an agent's processes.
    pub fn process(agent: &UnitId, pid: u32) -> UnitId {
        UnitId(format!("{agent}/{pid}").into())
    }

    /// The ID of a text: a name, or a name, a slash and a process number. `None` if it is neither.
    pub fn new(text: &str) -> Option<UnitId> {
        if let Some(name) = Name::new(text) {
            return Some(name.into());
        }
        let (agent, pid) = text.rsplit_once('/')?;
        let is_pid = (1..=10).contains(&pid.len()) && pid.bytes().all(|b| b.is_ascii_digit());
        (is_pid && Name::new(agent).is_some()).then(|| UnitId(text.into()))
    }

    /// The ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Name> for UnitId {
    fn from(name: Name) -> UnitId {
        UnitId(name.0)
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_to_sixty_four_of_the_allowed_bytes() {
        for good in ["main", "agt_01", "a", &"x".repeat(64), "mch:claude", "@me/x.y-z"] {
            assert!(Name::new(good).is_some(), "{good}");
        }
        for bad in ["", &"x".repeat(65), "two words", "tab\t", "é", "\u{1b}[31m", "a\r", "\u{202e}x", "a\0", "x;y"] {
            assert!(Name::new(bad).is_none(), "{bad:?}");
        }
        for bad in REFUSED {
            assert!(Name::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_stand_in_is_a_name_and_tells_texts_apart() {
        let (a, b) = (Name::stand_in("agent", b"two words"), Name::stand_in("agent", b"two wordz"));
        assert_ne!(a, b);
        assert_eq!(Name::new(a.as_str()), Some(a));
    }

    #[test]
    fn a_process_id_may_be_longer_than_a_name() {
        let agent = UnitId::from(Name::new(&"x".repeat(64)).unwrap());
        let process = UnitId::process(&agent, 4_194_304);
        assert_eq!(UnitId::new(process.as_str()), Some(process));
        assert_eq!(UnitId::new(&format!("{}/12x", "x".repeat(64))), None);
        assert_eq!(UnitId::new("a b/12"), None);
    }
}
