//! Pushing allocates nothing and the scanner stays small, whatever passes. Alone in its program, so that no other
//! test's allocations are counted.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{CHAT, SSE, answer, counts, look_alikes, reported};
use lnk_usage::UsageScanner;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[allow(unsafe_code, reason = "an allocator can't be written otherwise")]
// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn a_scanner_never_allocates() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1]))) > 0, "allocations are counted");
    for case in [reported::cases(), look_alikes::cases()].concat() {
        for size in [1, 100, 65536] {
            let mut usage = None;
            let count = allocations(|| {
                let mut scanner = UsageScanner::new(&case.answer());
                case.body.chunks(size).for_each(|chunk| scanner.push(chunk));
                usage = scanner.end();
            });
            assert_eq!((count, usage), (0, case.usage), "{}", case.name);
        }
    }
}

#[test]
fn a_stream_of_megabytes_allocates_nothing() {
    let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"text\"}}],\"usage\":null}\n\n".repeat(1000);
    let end = "data: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":6}}\n\n";
    let mut scanner = UsageScanner::new(&answer(CHAT, SSE));
    let count = allocations(|| {
        for _ in 0..100 {
            // Cut inside an event, so that one is held each time.
            let (before, after) = chunk.as_bytes().split_at(chunk.len() - 30);
            scanner.push(before);
            scanner.push(after);
        }
        scanner.push(end.as_bytes());
    });
    assert_eq!((count, scanner.end()), (0, counts(5, 0, 0, 6)));
}

#[test]
fn a_scanner_is_small() {
    let size = size_of::<UsageScanner>();
    assert!(size <= 2048, "a scanner takes {size} bytes");
}
