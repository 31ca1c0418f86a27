//! Files cut, flipped, doubled or made to harm: readers give what is good, say what isn't, and never fall over.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;

use common::{HOUR_MS, KEEP, START_MS, Seeded, day_of, id, look, names, open};
use lnk_schema::Measure;
use lnk_store::{Day, Store, read_day, read_now};

const PLAIN: &str = "fine/2026-11-30-21.jsonl";
const PACKED: &str = "fine/2026-11-30-21.jsonl.zst";

/// What is found: its name, the two files, the turns in them and the messages there are.
type Row<'a> = (&'a str, &'a [u8], &'a [u8], u64, usize);

/// A store of one hour's looks, a turn each.
fn hour(folder: &Path, looks: u64) -> Vec<u8> {
    let store = open(folder);
    for n in 0..looks {
        store.append(&look(START_MS + n * 10_000, n, 1), r#"{"p":1}"#).unwrap();
    }
    std::fs::read(folder.join(PLAIN)).unwrap()
}

fn day(folder: &Path) -> Day {
    read_day(folder, START_MS + 2 * HOUR_MS, None).unwrap()
}

fn turns(day: &Day) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few turns")]
    let turns = day_of(day, "agt_01", Measure::Turns).unwrap_or(0.0) as u64;
    turns
}

/// Compresses the hour by going on in the next; the next hour's file is taken away again.
fn pack(folder: &Path) -> Vec<u8> {
    let store = open(folder);
    store.append(&look(START_MS + HOUR_MS, 0, 0), "{}").unwrap();
    assert!(store.tidy(START_MS + HOUR_MS).is_empty());
    std::fs::remove_file(folder.join("fine/2026-11-30-22.jsonl")).unwrap();
    std::fs::read(folder.join(PACKED)).unwrap()
}

#[test]
fn a_file_cut_at_any_byte_gives_its_whole_lines_and_is_mended_by_a_start() {
    let at = tempfile::tempdir().unwrap();
    let bytes = hour(at.path(), 5);
    std::fs::remove_dir_all(at.path().join("minutes")).unwrap();
    for cut in 0..=bytes.len() {
        std::fs::write(at.path().join(PLAIN), &bytes[..cut]).unwrap();
        let whole = (bytes[..cut].split(|byte| *byte == b'\n').count() as u64 - 1).saturating_sub(1);
        let found = day(at.path());
        assert_eq!(turns(&found), whole, "cut at {cut}");
        assert_eq!(found.skipped, Vec::<String>::new(), "the newest file's last line may be under way");
        if cut % 7 == 0 {
            let (store, resumed) = Store::open(at.path(), KEEP).unwrap();
            let torn = !bytes[..cut].is_empty() && bytes[cut - 1] != b'\n';
            assert_eq!(resumed.notes.len(), usize::from(torn), "cut at {cut}: {:?}", resumed.notes);
            store.append(&look(START_MS + 60_000, 9, 1), "{}").unwrap();
            assert_eq!(turns(&day(at.path())), whole + 1, "cut at {cut}");
            assert!(day(at.path()).skipped.is_empty());
        }
    }
}

#[test]
fn a_flipped_bit_in_a_plain_file_costs_its_line_and_is_told_where_it_isnt_json() {
    let at = tempfile::tempdir().unwrap();
    let bytes = hour(at.path(), 4);
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for i in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[i] ^= 1 << bit;
            std::fs::write(at.path().join(PLAIN), &flipped).unwrap();
            let found = day(at.path());
            // A digit that became another is still JSON, and a turn of a thousand is a number; any other line's stay.
            let json = flipped
                .split(|byte| *byte == b'\n')
                .all(|line| line.is_empty() || serde_json::from_slice::<serde_json::Value>(line).is_ok());
            assert!(
                json || !found.skipped.is_empty() || flipped.last() != Some(&b'\n') || i <= header,
                "byte {i} bit {bit}"
            );
            assert!(turns(&found) >= 2 || i <= header + 250, "byte {i} bit {bit}: {}", turns(&found));
        }
    }
}

#[test]
fn a_flipped_bit_in_a_compressed_file_is_always_found() {
    let at = tempfile::tempdir().unwrap();
    hour(at.path(), 30);
    let bytes = pack(at.path());
    std::fs::remove_dir_all(at.path().join("minutes")).unwrap();
    let good = day(at.path());
    assert_eq!(turns(&good), 30);
    for i in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[i] ^= 1 << bit;
            std::fs::write(at.path().join(PACKED), &flipped).unwrap();
            let found = day(at.path());
            // Where a bit of the frame's own header was unused, the lines are still the same.
            assert!(!found.skipped.is_empty() || found.units == good.units, "byte {i} bit {bit}");
        }
    }
    for cut in 0..bytes.len() {
        std::fs::write(at.path().join(PACKED), &bytes[..cut]).unwrap();
        assert_eq!(day(at.path()).skipped.len(), 1, "cut at {cut}");
    }
}

#[test]
fn damage_to_a_frame_costs_that_frame() {
    let at = tempfile::tempdir().unwrap();
    hour(at.path(), 30);
    let first = pack(at.path());
    // A second file's bytes behind the first's are a second frame.
    let other = tempfile::tempdir().unwrap();
    hour(other.path(), 7);
    let second = pack(other.path());
    std::fs::remove_dir_all(at.path().join("minutes")).unwrap();
    let write = |bytes: &[u8]| std::fs::write(at.path().join(PACKED), bytes).unwrap();
    write(&[&first[..], &second].concat());
    assert_eq!((turns(&day(at.path())), day(at.path()).skipped.len()), (37, 0));
    let mut damaged = first.clone();
    damaged[first.len() / 2] ^= 0x10;
    write(&[&damaged[..], &second].concat());
    assert_eq!((turns(&day(at.path())), day(at.path()).skipped.len()), (7, 1));
    for trailer in [&b"\0\0\0\0\0\0\0\0"[..], b"rubbish", &second[..second.len() - 1]] {
        write(&[&first[..], trailer].concat());
        assert_eq!((turns(&day(at.path())), day(at.path()).skipped.len()), (30, 1));
    }
}

#[test]
fn a_bomb_is_refused() {
    let at = tempfile::tempdir().unwrap();
    hour(at.path(), 3);
    pack(at.path());
    std::fs::remove_dir_all(at.path().join("minutes")).unwrap();
    let zeros = vec![0; 256 << 20];
    let bomb = zstd::bulk::compress(&zeros, 1).unwrap();
    assert!(bomb.len() < 64 << 10);
    std::fs::write(at.path().join(PACKED), &bomb).unwrap();
    assert_eq!(day(at.path()).skipped.len(), 1);
    // Many that are each small enough are too much together, and end soon.
    let small = zstd::bulk::compress(&zeros[..63 << 20], 1).unwrap();
    std::fs::write(at.path().join(PACKED), small.repeat(400)).unwrap();
    assert_eq!(day(at.path()).skipped.len(), 1);
    // A frame that doesn't say its size isn't one of ours.
    let mut unsized_frame = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    for part in zeros[..2000].chunks(1000) {
        std::io::Write::write_all(&mut unsized_frame, part).unwrap();
        std::io::Write::flush(&mut unsized_frame).unwrap();
    }
    std::fs::write(at.path().join(PACKED), unsized_frame.finish().unwrap()).unwrap();
    assert_eq!(day(at.path()).skipped.len(), 1);
}

#[test]
fn a_line_that_cant_be_read_costs_itself_and_carries_nothing_on() {
    let at = tempfile::tempdir().unwrap();
    let bytes = hour(at.path(), 6);
    std::fs::remove_dir_all(at.path().join("minutes")).unwrap();
    let lines: Vec<_> = std::str::from_utf8(&bytes).unwrap().lines().collect();
    for garbage in [
        "",
        "{",
        "null",
        "[1]",
        "\0\0\0\0",
        "{\"t\":1}",
        "{\"t\":1796072420,\"units\":[{\"id\":\"agt_01\"]}",
        "{\"t\":1796072420,\"units\":{}}",
    ] {
        let mut garbled = lines.clone();
        garbled[3] = garbage;
        std::fs::write(at.path().join(PLAIN), garbled.join("\n") + "\n").unwrap();
        let found = day(at.path());
        assert_eq!((turns(&found), found.skipped.len()), (5, 1), "{garbage:?}");
        assert!(
            found.skipped[0].contains("2026-11-30-21.jsonl: 1 places can't be read, the first after line 3"),
            "{:?}",
            found.skipped
        );
        // A running total's next value says what the lost line would have.
        assert_eq!(day_of(&found, "mch_7f", Measure::CpuUsed), Some(5.0), "{garbage:?}");
    }
    // The last line read after a gap: what it doesn't say isn't known.
    std::fs::write(at.path().join(PLAIN), [lines[0], lines[1], "{", lines[3]].join("\n") + "\n").unwrap();
    let found = day(at.path());
    let agent = found.units.iter().find(|unit| unit.id() == &id("agt_01")).unwrap();
    assert_eq!(agent.now(Measure::DiskRead), None, "unchanged since a line that is lost");
    assert_eq!(agent.now(Measure::CpuUsed), Some(0.5));
}

#[test]
fn lines_without_a_header_are_not_misread() {
    let at = tempfile::tempdir().unwrap();
    let bytes = hour(at.path(), 4);
    std::fs::remove_dir_all(at.path().join("minutes")).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    std::fs::write(at.path().join(PLAIN), format!("{}\n{rest}", &header[..30])).unwrap();
    assert_eq!((turns(&day(at.path())), day(at.path()).skipped.len()), (0, 1));
    // A start sees it, and says a header with its first line.
    open(at.path()).append(&look(START_MS + 90_000, 9, 1), "{}").unwrap();
    assert_eq!(turns(&day(at.path())), 1);
    // Another version's columns: each value by its name, whatever is unknown left alone.
    let other = header.replace("[\"memory.used.sum\"", "[\"brain.used.sum\",\"memory.used.sum\"");
    let line = r#"{"t":1796072400,"new":[{}],"units":[{"id":"agt_01","kind":"agent","mood":"good","s":"9","v":[77,5,null,2.5],"e":{"18":[1,2],"0":[9],"x":[9]}}]}"#;
    std::fs::write(at.path().join(PLAIN), format!("{other}\n{line}\n")).unwrap();
    let found = day(at.path());
    assert_eq!(found.skipped, Vec::<String>::new());
    assert_eq!(turns(&found), 3);
    assert_eq!(day_of(&found, "agt_01", Measure::MemoryUsed), Some(5.0));
    // Going on in it, a start writes this version's header first.
    open(at.path()).append(&look(START_MS + 90_000, 9, 1), "{}").unwrap();
    assert_eq!(turns(&day(at.path())), 4);
}

#[test]
fn two_files_of_one_span_are_read_once_and_made_one() {
    let at = tempfile::tempdir().unwrap();
    let plain = hour(at.path(), 10);
    let packed = pack(at.path());
    let line_end = |n: usize| plain.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(n).unwrap().0 + 1;
    let header = &plain[..line_end(0)];
    let (half, tail) = (&plain[..line_end(5)], &plain[line_end(5)..]);
    let half_packed = zstd_of(half);
    let other = String::from_utf8([header, &plain[line_end(0)..line_end(1)]].concat()).unwrap();
    let other = other.replace(r#"{"t":1796072400"#, r#"{"t":1796072401"#).into_bytes();
    let mut damaged = packed.clone();
    damaged[packed.len() / 2] ^= 1;
    let rows: [Row<'_>; 7] = [
        ("equal", &plain, &packed, 10, 0),
        ("the plain one grew", &plain, &half_packed, 10, 0),
        ("merged already", tail, &packed, 10, 0),
        ("read before it was whole", half, &packed, 10, 0),
        ("opened again", &other, &packed, 11, 0),
        ("damaged", &plain, &damaged, 10, 0),
        ("empty", &plain, b"", 10, 0),
    ];
    for (what, plain, packed, expected, skipped) in rows {
        for name in names(at.path(), "fine") {
            std::fs::remove_file(at.path().join("fine").join(name)).unwrap();
        }
        std::fs::write(at.path().join(PLAIN), plain).unwrap();
        std::fs::write(at.path().join(PACKED), packed).unwrap();
        std::fs::write(at.path().join("fine/.2026-11-30-21.jsonl.zst.tmp"), "half").unwrap();
        let found = day(at.path());
        assert_eq!((turns(&found), found.skipped.len()), (expected, skipped), "{what}: {:?}", found.skipped);
        let store = open(at.path());
        store.append(&look(START_MS + HOUR_MS, 20, 1), "{}").unwrap();
        assert!(store.tidy(START_MS + HOUR_MS).is_empty(), "{what}");
        assert_eq!(names(at.path(), "fine"), ["2026-11-30-21.jsonl.zst", "2026-11-30-22.jsonl"], "{what}");
        assert_eq!((turns(&day(at.path())), day(at.path()).skipped.len()), (expected + 1, skipped), "{what}");
    }
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
    compressor.include_checksum(true).unwrap();
    compressor.compress(bytes).unwrap()
}

#[test]
fn a_damaged_compressed_file_alone_is_never_deleted() {
    let at = tempfile::tempdir().unwrap();
    hour(at.path(), 10);
    let mut packed = pack(at.path());
    let half = packed.len() / 2;
    packed[half] ^= 1;
    std::fs::write(at.path().join(PACKED), &packed).unwrap();
    let store = open(at.path());
    store.append(&look(START_MS + HOUR_MS, 20, 1), "{}").unwrap();
    assert!(store.tidy(START_MS + HOUR_MS).is_empty());
    assert_eq!(std::fs::read(at.path().join(PACKED)).unwrap(), packed);
}

#[test]
fn a_newest_file_that_cant_be_read_is_let_be_and_the_watcher_goes_on() {
    let at = tempfile::tempdir().unwrap();
    hour(at.path(), 10);
    let store = open(at.path());
    store.append(&look(START_MS + 200_000, 20, 1), r#"{"p":2}"#).unwrap();
    store.write_day().unwrap();
    drop(store);
    let plain = at.path().join(PLAIN);
    let good = std::fs::read(&plain).unwrap();
    // Too big, without taking the room. A copy that says what its last line counted names another line.
    std::fs::File::options().write(true).open(&plain).unwrap().set_len((256 << 20) + 1).unwrap();
    for at_ms in [START_MS + 300_000, START_MS + 310_000] {
        let (store, resumed) = Store::open(at.path(), KEEP).unwrap();
        let told = resumed.notes.iter().filter(|note| note.contains("2026-11-30-21.jsonl")).count();
        assert!((1..=2).contains(&told) && told == resumed.notes.len(), "{:?}", resumed.notes);
        if at_ms == START_MS + 300_000 {
            assert!(resumed.notes[0].contains("goes to a file of its own"), "{:?}", resumed.notes);
            assert_eq!((resumed.counted, resumed.totals, resumed.last_look_ms), (None, Vec::new(), None));
        } else {
            assert_eq!(resumed.last_look_ms, Some(START_MS + 300_000));
        }
        store.append(&look(at_ms, 30, 1), "{}").unwrap();
        store.write_day().unwrap();
        assert_eq!(store.tidy(at_ms).len(), 2, "it can't be compressed, nor its time be told");
    }
    assert_eq!(names(at.path(), "fine"), ["2026-11-30-21.jsonl", "2026-11-30-22.jsonl"]);
    let found = day(at.path());
    assert_eq!((turns(&found), found.skipped.len()), (2, 1), "{:?}", found.skipped);
    // What made it unreadable is gone: it was let be, so all of it is there.
    std::fs::write(&plain, good).unwrap();
    let found = day(at.path());
    assert_eq!((turns(&found), found.skipped.len()), (13, 0), "{:?}", found.skipped);
}

/// Anything at all in the place of any file: never a panic, never without an end.
#[test]
fn random_damage_never_stops_a_reader_or_a_start() {
    let at = tempfile::tempdir().unwrap();
    let plain = hour(at.path(), 4);
    let store = open(at.path());
    store.write_now(&look(START_MS + 30_000, 3, 1), 10_000, None, serde_json::json!({"agents": []})).unwrap();
    store.write_day().unwrap();
    drop(store);
    let packed = pack(at.path());
    let copies =
        ["day.json", "now.json", "counted.json"].map(|name| (name, std::fs::read(at.path().join(name)).unwrap()));
    let words: [&[u8]; 14] = [
        b"\"",
        b"{",
        b"}",
        b"[",
        b"]",
        b"null",
        b"1e999",
        b"-1",
        b"18446744073709551616",
        b"\\u0000",
        b"\"units\":",
        b"\n",
        b"\0",
        b"__proto__",
    ];
    for seed in 1..=4000 {
        let mut seeded = Seeded(seed * 0x9E37_79B9);
        let mut mutate = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for _ in 0..=seeded.below(4) {
                let place = usize::try_from(seeded.below(bytes.len() as u64 + 1)).unwrap();
                match seeded.below(4) {
                    0 if place < bytes.len() => bytes[place] = u8::try_from(seeded.below(256)).unwrap(),
                    1 => bytes.truncate(place),
                    2 => drop(
                        bytes.splice(place..place, words[usize::try_from(seeded.below(14)).unwrap()].iter().copied()),
                    ),
                    _ => bytes.extend_from_within(place..),
                }
            }
            bytes
        };
        std::fs::write(at.path().join(PLAIN), mutate(&plain)).unwrap();
        if seed % 2 == 0 {
            std::fs::write(at.path().join(PACKED), mutate(&packed)).unwrap();
        } else {
            let _ = std::fs::remove_file(at.path().join(PACKED));
        }
        for (name, bytes) in &copies {
            std::fs::write(at.path().join(name), mutate(bytes)).unwrap();
        }
        let found = day(at.path());
        let json = serde_json::to_string(&found).unwrap();
        assert!(!json.contains("\"__proto__\""), "seed {seed}");
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "seed {seed}");
        let _ = read_now(at.path(), START_MS + HOUR_MS);
        let _ = read_day(at.path(), START_MS + HOUR_MS, Some(&id("agt_01"))).unwrap();
        if seed % 8 == 0 {
            let (store, resumed) = Store::open(at.path(), KEEP).unwrap();
            assert!(resumed.counted.is_none_or(|text| serde_json::from_str::<serde_json::Value>(&text).is_ok()));
            store.append(&look(START_MS + 90_000, 9, 1), "{}").unwrap();
            let after = day(at.path());
            assert!(turns(&after) >= 1, "seed {seed}: what is kept after damage is there");
            drop(store);
            for name in names(at.path(), "fine") {
                std::fs::remove_file(at.path().join("fine").join(name)).unwrap();
            }
        }
    }
}
