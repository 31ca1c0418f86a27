//! One usage object's fields, what they say together, and how what several of them say becomes an answer's counts.

use crate::dialect::Dialect;
use crate::number::{BILLION, Count};

/// A count of a usage object, told apart from its other spellings: of one key the last value is taken, of several
/// spellings the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field(u8);

const FIELDS: usize = 35;

impl Field {
    pub(crate) const INPUT: Field = Field(0);
    pub(crate) const OUTPUT: Field = Field(1);
    const PROMPT: Field = Field(2);
    const COMPLETION: Field = Field(3);
    const TOTAL: Field = Field(4);
    pub(crate) const CACHE_READ: Field = Field(5);
    const CACHE_CREATION: Field = Field(6);
    /// Mistral's.
    const NUM_CACHED: Field = Field(7);
    /// `DeepSeek`'s.
    const CACHE_HIT: Field = Field(8);
    /// The first of the four fields of [`Field::of_details`], standing in the usage object itself (Kimi, gateways).
    const BESIDE: Field = Field(9);
    /// The first of the same four in `prompt_tokens_details`, and in the two other spellings of that.
    pub(crate) const PROMPT_DETAILS: Field = Field(13);
    pub(crate) const PROMPT_DETAILS_SINGULAR: Field = Field(17);
    pub(crate) const INPUT_DETAILS: Field = Field(21);
    const DETAILS: [Field; 4] =
        [Field::BESIDE, Field::PROMPT_DETAILS, Field::PROMPT_DETAILS_SINGULAR, Field::INPUT_DETAILS];
    pub(crate) const COMPLETION_REASONING: Field = Field(25);
    pub(crate) const OUTPUT_REASONING: Field = Field(26);
    pub(crate) const WRITTEN_5M: Field = Field(27);
    pub(crate) const WRITTEN_1H: Field = Field(28);
    /// An entry of `iterations`: input, output, read, written.
    const ITERATION: [Field; 4] = [Field(29), Field(30), Field(31), Field(32)];
    const THOUGHTS: Field = Field(33);
    const TOOL_PROMPT: Field = Field(34);

    /// The field of a key in a usage object.
    pub(crate) fn of_usage(key: &[u8]) -> Option<Field> {
        match key {
            b"input_tokens" => Some(Field::INPUT),
            b"output_tokens" => Some(Field::OUTPUT),
            b"prompt_tokens" => Some(Field::PROMPT),
            b"completion_tokens" => Some(Field::COMPLETION),
            b"total_tokens" => Some(Field::TOTAL),
            b"cache_read_input_tokens" => Some(Field::CACHE_READ),
            b"cache_creation_input_tokens" => Some(Field::CACHE_CREATION),
            b"num_cached_tokens" => Some(Field::NUM_CACHED),
            b"prompt_cache_hit_tokens" => Some(Field::CACHE_HIT),
            _ => Field::of_details(Field::BESIDE, key),
        }
    }

    /// The field of a key in a details object whose four fields begin with `first`: what was read from the cache, and
    /// three spellings of what was written to it.
    pub(crate) fn of_details(first: Field, key: &[u8]) -> Option<Field> {
        match key {
            b"cached_tokens" => Some(first),
            b"cache_write_tokens" => Some(first.after(1)),
            b"cache_creation_tokens" => Some(first.after(2)),
            b"cached_write_tokens" => Some(first.after(3)),
            _ => None,
        }
    }

    fn after(self, places: u8) -> Field {
        Field(self.0 + places)
    }

    /// The field of a key in an entry of `iterations`.
    pub(crate) fn of_iteration(key: &[u8]) -> Option<Field> {
        Some(match key {
            b"input_tokens" => Field::ITERATION[0],
            b"output_tokens" => Field::ITERATION[1],
            b"cache_read_input_tokens" => Field::ITERATION[2],
            b"cache_creation_input_tokens" => Field::ITERATION[3],
            _ => return None,
        })
    }

    /// The field of a key in Gemini's `usageMetadata`.
    pub(crate) fn of_gemini(key: &[u8]) -> Option<Field> {
        Some(match key {
            b"promptTokenCount" => Field::INPUT,
            b"candidatesTokenCount" => Field::OUTPUT,
            b"cachedContentTokenCount" => Field::CACHE_READ,
            b"thoughtsTokenCount" => Field::THOUGHTS,
            b"toolUsePromptTokenCount" => Field::TOOL_PROMPT,
            _ => return None,
        })
    }
}

/// Stands for a count past a billion, which is past what an answer could be.
const OVER: u32 = 1_000_000_001;

/// Input, output, read from the cache, written to it.
type Four<T> = [T; 4];

/// A usage object's counts as they stand, while it is read.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    values: [u32; FIELDS],
    /// A bit a field.
    present: u64,
    /// Whether `input_tokens_details` was there.
    input_details: bool,
    iterations: Option<Four<u32>>,
    iteration_adds: bool,
}

impl Default for Raw {
    fn default() -> Raw {
        Raw { values: [0; FIELDS], present: 0, input_details: false, iterations: None, iteration_adds: false }
    }
}

impl Raw {
    pub(crate) fn set(&mut self, Field(field): Field, count: Count) {
        let value = match count {
            Count::Is(value) => value,
            Count::Over => OVER,
            Count::Not => return,
        };
        if let Some(slot) = self.values.get_mut(usize::from(field)) {
            *slot = value;
            self.present |= 1 << field;
        }
    }

    pub(crate) fn clear(&mut self, Field(field): Field) {
        self.present &= !(1 << field);
    }

    pub(crate) fn clear_details(&mut self, first: Field) {
        self.present &= !(0b1111 << first.0);
        self.input_details &= first != Field::INPUT_DETAILS;
    }

    pub(crate) fn saw_details(&mut self, first: Field) {
        self.input_details |= first == Field::INPUT_DETAILS;
    }

    pub(crate) fn clear_iterations(&mut self) {
        self.iterations = None;
    }

    pub(crate) fn saw_iterations(&mut self) {
        self.iterations = Some([0; 4]);
    }

    pub(crate) fn begin_iteration(&mut self) {
        for field in Field::ITERATION {
            self.clear(field);
        }
        self.iteration_adds = false;
    }

    /// Compaction and advisor passes are left out of the object's own counts; `message` and `fallback_message` are in.
    pub(crate) fn set_iteration_type(&mut self, text: &[u8]) {
        self.iteration_adds = matches!(text, b"compaction" | b"advisor_message");
    }

    pub(crate) fn end_iteration(&mut self) {
        let entry = Field::ITERATION.map(|field| self.get(field).unwrap_or(0));
        if let Some(sums) = self.iterations.as_mut().filter(|_| self.iteration_adds) {
            for (sum, count) in sums.iter_mut().zip(entry) {
                *sum = sum.saturating_add(count);
            }
        }
    }

    fn get(&self, Field(field): Field) -> Option<u32> {
        if self.present >> field & 1 == 0 { None } else { self.values.get(usize::from(field)).copied() }
    }

    /// The largest of several spellings of one count.
    fn largest<const N: usize>(&self, spellings: [Field; N]) -> Option<u32> {
        spellings.into_iter().filter_map(|field| self.get(field)).max()
    }

    /// What the object says; `None` if it has no count.
    pub(crate) fn reported(&self, dialect: Dialect) -> Option<Reported> {
        let reported = match dialect {
            Dialect::Inclusive => self.inclusive(),
            // An object in the other convention on this path (a translating gateway) shows by its keys.
            Dialect::Exclusive if self.get(Field::INPUT).is_none() && self.get(Field::PROMPT).is_some() => {
                self.inclusive().into_exclusive()
            }
            Dialect::ByKeys if self.input_details || self.get(Field::PROMPT).is_some() => {
                self.inclusive().into_exclusive()
            }
            Dialect::Exclusive | Dialect::ByKeys => self.exclusive(),
            Dialect::Ollama | Dialect::Gemini => Reported {
                input: self.get(Field::INPUT),
                output: self.get(Field::OUTPUT),
                read: self.get(Field::CACHE_READ),
                thoughts: self.get(Field::THOUGHTS),
                tool_prompt: self.get(Field::TOOL_PROMPT),
                ..Reported::default()
            },
        };
        reported.has_counts(dialect).then_some(reported)
    }

    /// OpenAI's convention: the prompt is whole, and what is cached of it is a part.
    fn inclusive(&self) -> Reported {
        let read = Field::DETAILS.map(|first| self.get(first)).into_iter().max().flatten();
        let read = read.max(self.largest([Field::NUM_CACHED, Field::CACHE_HIT, Field::CACHE_READ]));
        let written = Field::DETAILS.map(|first| self.largest([1, 2, 3].map(|places| first.after(places))));
        let written = written.into_iter().max().flatten().max(self.get(Field::CACHE_CREATION));
        let prompt = self.largest([Field::PROMPT, Field::INPUT]);
        let completion = self.largest([Field::COMPLETION, Field::OUTPUT]);
        let reasoning = self.largest([Field::COMPLETION_REASONING, Field::OUTPUT_REASONING]).unwrap_or(0);
        // xAI leaves reasoning out of the completion. Only its own total proves it: others have it in already.
        let beside = completion.map(|completion| u64::from(completion) + u64::from(reasoning));
        let proof = beside.map(|beside| beside + u64::from(prompt.unwrap_or(0)));
        let is_beside = reasoning > 0 && proof.is_some() && self.get(Field::TOTAL).map(u64::from) == proof;
        Reported {
            input: prompt,
            output: if is_beside { beside.map(at_most_over) } else { completion },
            read,
            written,
            ..Reported::default()
        }
    }

    /// Anthropic's convention: three parts that don't overlap.
    fn exclusive(&self) -> Reported {
        let split = [Field::WRITTEN_5M, Field::WRITTEN_1H].map(|field| self.get(field));
        let split = split.into_iter().flatten().reduce(u32::saturating_add);
        Reported {
            input: self.get(Field::INPUT),
            output: self.get(Field::OUTPUT),
            read: self.get(Field::CACHE_READ),
            written: self.get(Field::CACHE_CREATION).or(split),
            iterations: self.iterations,
            ..Reported::default()
        }
    }
}

fn at_most_over(value: u64) -> u32 {
    u32::try_from(value).map_or(OVER, |value| value.min(OVER))
}

/// What one usage object says, a count absent where it says nothing of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reported {
    /// The whole prompt, or under Anthropic's convention the part that no cache had to do with.
    input: Option<u32>,
    output: Option<u32>,
    read: Option<u32>,
    written: Option<u32>,
    /// Gemini's, beside its candidates.
    thoughts: Option<u32>,
    /// Gemini's, beside its prompt.
    tool_prompt: Option<u32>,
    /// What passes that the other counts leave out took together; absent if it lists no passes.
    iterations: Option<Four<u32>>,
}

impl Reported {
    fn all(&self) -> [Option<u32>; 6] {
        [self.input, self.output, self.read, self.written, self.thoughts, self.tool_prompt]
    }

    /// Whether anything is counted: a part of a prompt without the prompt isn't, where the prompt is given whole.
    fn has_counts(&self, dialect: Dialect) -> bool {
        match dialect {
            Dialect::Inclusive => self.input.is_some() || self.output.is_some(),
            _ => self.all().iter().any(Option::is_some),
        }
    }

    /// Whether everything it says is zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.all().iter().all(|count| count.unwrap_or(0) == 0) && self.iterations.unwrap_or_default() == [0; 4]
    }

    fn is_over(&self) -> bool {
        self.all().iter().any(|count| count.unwrap_or(0) >= OVER)
            || self.iterations.unwrap_or_default().iter().any(|&count| count >= OVER)
    }

    /// The same counts in Anthropic's convention: the parts add up to the whole prompt again.
    fn into_exclusive(self) -> Reported {
        let Some(input) = self.input else { return self };
        let read = self.read.map(|read| read.min(input));
        let written = self.written.map(|written| written.min(input - read.unwrap_or(0)));
        Reported { input: Some(input - read.unwrap_or(0) - written.unwrap_or(0)), read, written, ..self }
    }
}

/// An answer's counts, from what its usage objects say one after another. Nothing is ever added up across them: every
/// provider reports running totals.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    dialect: Dialect,
    latest: Reported,
    seen: bool,
    over: bool,
    /// Whether any object had a field of the cache.
    cache_seen: bool,
    /// The prompt as the first object gave it, if that had no fields of the cache and so may have meant it whole.
    whole: Option<u32>,
}

impl Tally {
    pub(crate) fn new(dialect: Dialect) -> Tally {
        Tally { dialect, latest: Reported::default(), seen: false, over: false, cache_seen: false, whole: None }
    }

    pub(crate) fn is_seen(&self) -> bool {
        self.seen
    }

    /// Whether a count was past a billion: then nothing the answer says is believed.
    pub(crate) fn is_over(&self) -> bool {
        let too_many = |counts: Four<u64>| counts.iter().any(|&count| count > BILLION);
        self.over || self.counts().is_some_and(too_many)
    }

    /// Takes what the next usage object says.
    pub(crate) fn take(&mut self, next: &Reported) {
        self.over |= next.is_over();
        match self.dialect {
            Dialect::Exclusive | Dialect::ByKeys => self.take_parts(next),
            Dialect::Gemini if !next.is_zero() => self.take_present(next),
            _ if !next.is_zero() => self.latest = next.clone(),
            _ => {}
        }
        self.seen = true;
    }

    /// Field by field: Gemini's early chunks leave some out.
    fn take_present(&mut self, next: &Reported) {
        let latest = &mut self.latest;
        latest.input = next.input.or(latest.input);
        latest.output = next.output.or(latest.output);
        latest.read = next.read.or(latest.read);
        latest.thoughts = next.thoughts.or(latest.thoughts);
        latest.tool_prompt = next.tool_prompt.or(latest.tool_prompt);
    }

    /// Anthropic's: the prompt's three parts are one group, which an object without any of them leaves alone (older
    /// streams say only the output at the end) and any other overwrites where it speaks, with zeros too (a declined
    /// attempt's numbers on a fallback stream).
    fn take_parts(&mut self, next: &Reported) {
        let latest = &mut self.latest;
        latest.output = next.output.or(latest.output);
        latest.iterations = next.iterations.or(latest.iterations);
        let of_cache = next.read.or(next.written).is_some();
        let group_speaks = [next.input, next.read, next.written].iter().any(|count| count.unwrap_or(0) > 0);
        if group_speaks {
            latest.read = next.read.or(latest.read);
            latest.written = next.written.or(latest.written);
            match (next.input, self.whole) {
                (Some(input), _) => {
                    latest.input = next.input;
                    self.whole = (!of_cache && !self.cache_seen).then_some(input);
                }
                // Qwen's streams give the whole prompt first and only then what of it the cache had.
                (None, Some(whole)) => {
                    let cached = latest.read.unwrap_or(0).saturating_add(latest.written.unwrap_or(0));
                    latest.input = Some(whole.saturating_sub(cached));
                }
                (None, None) => {}
            }
        }
        self.cache_seen |= of_cache;
    }

    /// Input, output, read and written; `None` if no usage object had a count.
    pub(crate) fn counts(&self) -> Option<Four<u64>> {
        let of = |count: Option<u32>| u64::from(count.unwrap_or(0));
        let latest = &self.latest;
        let (input, output, read, written) = (of(latest.input), of(latest.output), of(latest.read), of(latest.written));
        let beside = latest.iterations.unwrap_or_default().map(u64::from);
        self.seen.then(|| match self.dialect {
            Dialect::Exclusive | Dialect::ByKeys => [
                input + read + written + beside[0] + beside[2] + beside[3],
                output + beside[1],
                read + beside[2],
                written + beside[3],
            ],
            // A part larger than its whole is a provider's inconsistency; the whole is what it charges by.
            _ => {
                let input = input + of(latest.tool_prompt);
                [input, output + of(latest.thoughts), read.min(input), written.min(input)]
            }
        })
    }
}
