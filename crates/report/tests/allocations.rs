//! A line's texts are dropped where they stand: what a line allocates doesn't depend on how much text is in it. Alone in
//! its program, so that no other test's allocations are counted.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{Home, of_metrics};

struct Counting;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

#[allow(unsafe_code, reason = "an allocator can't be written otherwise")]
// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.set(BYTES.get() + layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes allocated to read a file of one line with these texts, less what reading any file takes.
fn allocated(name: &str, text: &str) -> usize {
    let attributes = format!(r#"[{{"key":"{text}","value":{{"stringValue":"{text}"}}}}]"#);
    let data = format!(r#""sum":{{"dataPoints":[{{"asInt":"3","attributes":{attributes}}}]}}"#);
    let home = Home::new();
    home.append(of_metrics(&format!(r#"{{"name":"turns.sum","{text}":"{text}",{data}}},{{"name":"{name}",{data}}}"#)));
    let mut reader = home.reader();
    let before = BYTES.get();
    let read = reader.read();
    let bytes = BYTES.get() - before;
    assert_eq!(read.turns.len(), 1, "{:?}", read.notes);
    bytes
}

#[test]
fn the_text_in_a_line_is_never_copied() {
    let short = allocated("x", "y");
    assert!(short > 0, "allocations are counted");
    for text in ["z".repeat(6000), "\\u0041\\n\\\\".repeat(500), "\\ud83d\\ude00".repeat(500)] {
        assert_eq!(allocated("x", &text), short);
        assert_eq!(allocated(&text, "y"), short);
    }
}
