//! What others say of an agent: its harness of its turns, whoever starts and stops it of how long that took, its routes
//! of its tokens. Read from files that someone hostile may own; numbers only, never a text.
//!
//! A [`Reader`] follows one file of lines from look to look, an [`Apart`] does so on a thread of its own, [`Counted`] is
//! what a look's line says everything was read up to, and a [`Gatherer`] has all of it for one look. Nothing here knows
//! when to look or what the numbers add up to.

mod apart;
mod beside;
mod counted;
mod counter;
mod files;
mod gather;
mod json;
mod lines;
mod note;
mod open;
mod otlp;
mod position;
mod reader;
mod times;
mod tokens;
mod told;
mod turn;
mod writers;

pub use apart::Apart;
pub use beside::Beside;
pub use counted::Counted;
pub use counter::{Baseline, Counter, Growth};
pub use gather::{Gatherer, Problem};
pub use note::{Note, Refused};
pub use open::Place;
pub use position::Positions;
pub use reader::{Read, Reader};
pub use tokens::{TOKEN_MEASURES, parse_tokens, read_tokens, tokens_file_name};
pub use told::{Agent, Proxy, Told};
pub use turn::Turn;
