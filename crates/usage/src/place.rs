//! Which places of an answer's JSON carry usage, by exact path; everything else with the same names is not usage.

use crate::counts::{Field, Raw, Reported, Tally};
use crate::dialect::Dialect;
use crate::number::Count;

/// One of the places where a usage object may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// `usage` at the top, or Gemini's `usageMetadata` there.
    Top,
    /// `message.usage`: counts only in a `message_start`.
    Message,
    /// `response.usage`: counts only in an event of type `response.…`; or `response.usageMetadata` (Code Assist).
    Response,
    /// `x_groq.usage`.
    Groq,
    /// `choices[i].usage`.
    Choice,
}

/// Where in a document a container or value stands, as far as that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere that is read.
    Skip,
    /// The top: a document, or an array of documents (Gemini's stream without `alt=sse`).
    Root,
    RootArray,
    RootElement,
    Document,
    Message,
    Response,
    Groq,
    Choices,
    Choice,
    Usage(Slot),
    /// `prompt_tokens_details` and its like inside a usage object; its fields stand from this one on.
    Details(Field),
    /// `completion_tokens_details` and its like; its `reasoning_tokens` is this field.
    OutputDetails(Field),
    CacheCreation,
    Iterations,
    Iteration,
    Count(Field),
    /// The document's `type`.
    Type,
    IterationType,
    /// Ollama's `done_reason`.
    DoneReason,
}

impl Place {
    /// Whether a string here is compared with what is known.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Place::Type | Place::IterationType | Place::DoneReason)
    }
}

/// What a document's `type` says, as far as a place depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Event {
    MessageStart,
    Response,
    #[default]
    Other,
}

/// What one document has said so far. It is believed only once the document is whole, since `type` may come last and
/// what turns out not to be JSON yields nothing.
#[derive(Debug, Clone, Default)]
struct Document {
    open: bool,
    event: Event,
    is_load: bool,
    top: Option<Reported>,
    message: Option<Reported>,
    response: Option<Reported>,
    groq: Option<Reported>,
    choice: Option<Reported>,
}

impl Document {
    fn slot(&mut self, slot: Slot) -> &mut Option<Reported> {
        match slot {
            Slot::Top => &mut self.top,
            Slot::Message => &mut self.message,
            Slot::Response => &mut self.response,
            Slot::Groq => &mut self.groq,
            Slot::Choice => &mut self.choice,
        }
    }
}

/// Gathers an answer's usage, document by document.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    dialect: Dialect,
    document: Document,
    /// The usage object, or Ollama's document, under way: there is never more than one.
    raw: Raw,
    tally: Tally,
    /// What only `choices[i].usage` said, for answers that had no better place (Kimi's streams).
    fallback: Tally,
    /// Ollama said that it only loaded or unloaded a model.
    is_load: bool,
}

impl Reader {
    pub(crate) fn new(dialect: Dialect) -> Reader {
        Reader {
            dialect,
            document: Document::default(),
            raw: Raw::default(),
            tally: Tally::new(dialect),
            fallback: Tally::new(dialect),
            is_load: false,
        }
    }

    /// The answer's counts; `None` if it gave none that are believed.
    pub(crate) fn counts(&self) -> Option<[u64; 4]> {
        if self.tally.is_over() || self.fallback.is_over() {
            return None;
        }
        self.tally.counts().or_else(|| self.fallback.counts())
    }

    /// Whether every count that is read has a key that ends in `_tokens`.
    pub(crate) fn counts_end_in_tokens(&self) -> bool {
        !matches!(self.dialect, Dialect::Gemini | Dialect::Ollama)
    }

    /// Whether the answer was only Ollama's word that a model is loaded or unloaded.
    pub(crate) fn is_load(&self) -> bool {
        self.is_load && !self.tally.is_seen()
    }

    /// The document under way yields nothing.
    pub(crate) fn drop_document(&mut self) {
        self.document.open = false;
    }

    /// The bytes ended inside a document: a usage object complete by then still counts. Ollama's is the document.
    pub(crate) fn end_cut_document(&mut self) {
        if self.document.open && self.dialect != Dialect::Ollama {
            self.end_document();
        }
    }

    /// The place of `key`'s value in an object at `here`.
    pub(crate) fn key(&self, here: Place, key: &[u8]) -> Place {
        match (self.dialect, here) {
            (Dialect::Ollama, Place::Document) => match key {
                b"prompt_eval_count" => Place::Count(Field::INPUT),
                b"eval_count" => Place::Count(Field::OUTPUT),
                b"prompt_eval_cached_count" => Place::Count(Field::CACHE_READ),
                b"done_reason" => Place::DoneReason,
                _ => Place::Skip,
            },
            (Dialect::Gemini, Place::Document) => match key {
                b"usageMetadata" => Place::Usage(Slot::Top),
                b"response" => Place::Response,
                _ => Place::Skip,
            },
            (Dialect::Gemini, Place::Response) if key == b"usageMetadata" => Place::Usage(Slot::Response),
            (Dialect::Gemini, Place::Usage(_)) => Field::of_gemini(key).map_or(Place::Skip, Place::Count),
            (Dialect::Gemini | Dialect::Ollama, _) => Place::Skip,
            (_, Place::Document) => match key {
                b"usage" => Place::Usage(Slot::Top),
                b"message" => Place::Message,
                b"response" => Place::Response,
                b"x_groq" => Place::Groq,
                b"choices" => Place::Choices,
                b"type" => Place::Type,
                _ => Place::Skip,
            },
            (_, Place::Message) if key == b"usage" => Place::Usage(Slot::Message),
            (_, Place::Response) if key == b"usage" => Place::Usage(Slot::Response),
            (_, Place::Groq) if key == b"usage" => Place::Usage(Slot::Groq),
            (_, Place::Choice) if key == b"usage" => Place::Usage(Slot::Choice),
            (_, Place::Usage(_)) => match key {
                b"prompt_tokens_details" => Place::Details(Field::PROMPT_DETAILS),
                b"prompt_token_details" => Place::Details(Field::PROMPT_DETAILS_SINGULAR),
                b"input_tokens_details" => Place::Details(Field::INPUT_DETAILS),
                b"completion_tokens_details" => Place::OutputDetails(Field::COMPLETION_REASONING),
                b"output_tokens_details" => Place::OutputDetails(Field::OUTPUT_REASONING),
                b"cache_creation" => Place::CacheCreation,
                b"iterations" => Place::Iterations,
                _ => Field::of_usage(key).map_or(Place::Skip, Place::Count),
            },
            (_, Place::Details(first)) => Field::of_details(first, key).map_or(Place::Skip, Place::Count),
            (_, Place::OutputDetails(field)) if key == b"reasoning_tokens" => Place::Count(field),
            (_, Place::CacheCreation) => match key {
                b"ephemeral_5m_input_tokens" => Place::Count(Field::WRITTEN_5M),
                b"ephemeral_1h_input_tokens" => Place::Count(Field::WRITTEN_1H),
                _ => Place::Skip,
            },
            (_, Place::Iteration) if key == b"type" => Place::IterationType,
            (_, Place::Iteration) => Field::of_iteration(key).map_or(Place::Skip, Place::Count),
            _ => Place::Skip,
        }
    }

    /// The place of an element of an array at `here`.
    pub(crate) fn element(here: Place) -> Place {
        match here {
            Place::RootArray => Place::RootElement,
            Place::Choices => Place::Choice,
            Place::Iterations => Place::Iteration,
            _ => Place::Skip,
        }
    }

    /// A value of whatever type begins at `place`. Of a key that stands twice the last value is taken, as `JSON.parse`
    /// takes it, except that a usage object is only ever replaced by another object.
    pub(crate) fn value_begins(&mut self, place: Place) {
        match place {
            Place::Message => self.document.message = None,
            Place::Response => self.document.response = None,
            Place::Groq => self.document.groq = None,
            Place::Choices => self.document.choice = None,
            Place::Type => self.document.event = Event::Other,
            Place::DoneReason => self.document.is_load = false,
            Place::Details(first) => self.raw.clear_details(first),
            Place::OutputDetails(field) | Place::Count(field) => self.raw.clear(field),
            Place::CacheCreation => {
                self.raw.clear(Field::WRITTEN_5M);
                self.raw.clear(Field::WRITTEN_1H);
            }
            Place::Iterations => self.raw.clear_iterations(),
            Place::IterationType => self.raw.set_iteration_type(b""),
            _ => {}
        }
    }

    /// A container opens at `place`; the answer is its own place, which is none if the place wants the other kind.
    pub(crate) fn enter(&mut self, place: Place, object: bool) -> Place {
        match (place, object) {
            (Place::Root | Place::RootElement, true) => {
                self.document = Document { open: true, ..Document::default() };
                self.raw = Raw::default();
                Place::Document
            }
            (Place::Root, false) => Place::RootArray,
            (Place::Usage(slot), true) => {
                if slot != Slot::Choice {
                    *self.document.slot(slot) = None;
                }
                self.raw = Raw::default();
                place
            }
            (Place::Details(first), true) => {
                self.raw.saw_details(first);
                place
            }
            (Place::Iteration, true) => {
                self.raw.begin_iteration();
                place
            }
            (Place::Iterations, false) => {
                self.raw.saw_iterations();
                place
            }
            (
                Place::Message
                | Place::Response
                | Place::Groq
                | Place::Choice
                | Place::CacheCreation
                | Place::OutputDetails(_),
                true,
            )
            | (Place::Choices, false) => place,
            _ => Place::Skip,
        }
    }

    /// The container at `place` closes.
    pub(crate) fn leave(&mut self, place: Place) {
        match place {
            Place::Document => self.end_document(),
            Place::Iteration => self.raw.end_iteration(),
            Place::Usage(Slot::Choice) => {
                // Several choices: the last that says more than zero, as between events.
                let reported = self.raw.reported(self.dialect);
                if reported.as_ref().is_some_and(|one| !one.is_zero()) || self.document.choice.is_none() {
                    self.document.choice = reported;
                }
            }
            Place::Usage(slot) => *self.document.slot(slot) = self.raw.reported(self.dialect),
            _ => {}
        }
    }

    /// A number stands at the place of `field`.
    pub(crate) fn count(&mut self, field: Field, count: Count) {
        self.raw.set(field, count);
    }

    /// A string stands at `place`.
    pub(crate) fn text(&mut self, place: Place, text: &[u8]) {
        match place {
            Place::Type => {
                self.document.event = match text {
                    b"message_start" => Event::MessageStart,
                    _ if text.starts_with(b"response.") => Event::Response,
                    _ => Event::Other,
                };
            }
            Place::IterationType => self.raw.set_iteration_type(text),
            Place::DoneReason => self.document.is_load = matches!(text, b"load" | b"unload"),
            _ => {}
        }
    }

    fn end_document(&mut self) {
        let document = std::mem::take(&mut self.document);
        let top = match self.dialect {
            Dialect::Ollama => {
                self.is_load |= document.is_load;
                self.raw.reported(self.dialect)
            }
            _ => document.top,
        };
        let response =
            document.response.filter(|_| document.event == Event::Response || self.dialect == Dialect::Gemini);
        let message = document.message.filter(|_| document.event == Event::MessageStart);
        // The top level last: where two places speak, it is the one that stays.
        for reported in [document.groq, response, message, top].into_iter().flatten() {
            self.tally.take(&reported);
        }
        if let Some(reported) = document.choice {
            self.fallback.take(&reported);
        }
    }
}
