//! Reading on: long lines, cuts, files moved aside, cut short and begun anew, holes, and the end of the reader.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};

use common::{Home, NONE, append, calls, line, line_of_length, read_and_keep};
use lnk_report::{Note, Place, Positions, Reader, Turn};
use lnk_schema::Measure;

const KIB_64: usize = 64 << 10;
const MIB: usize = 1 << 20;

/// Positions read back from their texts, as a watcher that starts again has them.
fn again(positions: &Positions) -> Positions {
    Positions::from_texts(positions.to_texts().iter().map(String::as_str))
}

#[test]
fn nothing_is_there_and_then_lines_are() {
    let home = Home::new();
    let mut reader = home.reader();
    let read = reader.read();
    assert!(read.turns.is_empty() && read.notes.is_empty() && read.up_to.is_empty());
    home.append(line(1) + &line(2));
    assert_eq!(calls(&read_and_keep(&mut reader)), [1, 2]);
    assert_eq!(calls(&read_and_keep(&mut reader)), NONE);
    home.append(line(3));
    assert_eq!(calls(&read_and_keep(&mut reader)), [3]);
}

#[test]
fn a_line_is_read_once_wherever_it_was_cut() {
    let (text, home) = (line(1) + &line(2) + &line(3), Home::new());
    for cut in 0..=text.len() {
        let _ = fs::remove_file(home.file());
        let mut reader = home.reader();
        home.append(&text[..cut]);
        let mut read = calls(&reader.read());
        assert_eq!(read.len(), text[..cut].matches('\n').count(), "cut at {cut}");
        home.append(&text[cut..]);
        read.extend(calls(&reader.read()));
        assert_eq!(read, [1, 2, 3], "cut at {cut}");
    }
}

#[test]
fn lines_about_the_longest_and_far_past_it() {
    for (length, is_read) in [(KIB_64 - 1, true), (KIB_64, true), (KIB_64 + 1, false), (10 * MIB, false)] {
        let home = Home::new();
        home.append(line(1) + &line_of_length(2, length) + &line(3));
        let (mut reader, mut read, mut passed_over, mut looks) = (home.reader(), Vec::new(), 0, 0);
        while !read.ends_with(&[3]) {
            let look = read_and_keep(&mut reader);
            read.extend(calls(&look));
            passed_over += look.passed_over;
            assert_eq!(look.notes.contains(&Note::LongLine), look.passed_over > 0);
            looks += 1;
            assert!(looks < 10, "{length} is never over");
        }
        assert_eq!((read, passed_over), if is_read { (vec![1, 2, 3], 0) } else { (vec![1, 3], 1) }, "{length}");
        // 4 MiB a look.
        assert_eq!(looks, if length > MIB { 3 } else { 1 }, "{length}");
    }
}

#[test]
fn a_watcher_that_ends_within_a_long_line_steps_over_its_rest() {
    let home = Home::new();
    // The rest of the line looks like lines of its own would, but for the newline before it.
    home.append(line_of_length(1, 5 * MIB).trim_end().to_owned() + &line(7) + &line(2));
    let first = home.reader().read();
    assert!(first.turns.is_empty());
    let mut second = home.reader_from(&again(&first.up_to));
    assert_eq!(calls(&second.read()), [2]);
}

#[test]
fn a_look_reads_four_mebibytes_and_the_next_goes_on() {
    let home = Home::new();
    let count = 5 * MIB / line(100_000).len();
    home.append((0..count as u64).map(|n| line(100_000 + n)).collect::<String>());
    let mut reader = home.reader();
    let first = calls(&read_and_keep(&mut reader));
    assert!(first.len() * line(100_000).len() <= 4 * MIB && first.len() * line(100_000).len() > 3 * MIB);
    let second = calls(&read_and_keep(&mut reader));
    let all: Vec<u64> = (0..count as u64).map(|n| 100_000 + n).collect();
    assert_eq!([first, second].concat(), all);
}

#[test]
fn a_file_moved_aside_is_read_to_its_end_before_the_new_one() {
    let home = Home::new();
    home.append(line(1));
    let mut reader = home.reader();
    assert_eq!(calls(&reader.read()), [1]);
    home.append(line(2));
    fs::rename(home.file(), home.beside(".1")).unwrap();
    home.append(line(3));
    assert_eq!(calls(&reader.read()), [2, 3]);
    // By one who still has it open.
    append(&home.beside(".1"), line(4));
    home.append(line(5));
    assert_eq!(calls(&reader.read()), [4, 5]);
}

#[test]
fn a_file_moved_aside_twice_between_looks_is_read_to_its_end() {
    let home = Home::new();
    home.append(line(1));
    let mut reader = home.reader();
    assert_eq!(calls(&read_and_keep(&mut reader)), [1]);
    let mut held = OpenOptions::new().append(true).open(home.file()).unwrap();
    held.write_all(line(2).as_bytes()).unwrap();
    fs::rename(home.file(), home.beside(".1")).unwrap();
    home.append(line(3));
    fs::rename(home.file(), home.beside(".1")).unwrap();
    home.append(line(4));
    held.write_all(line(5).as_bytes()).unwrap();
    assert_eq!(calls(&read_and_keep(&mut reader)), [2, 5, 3, 4]);
    // The first has no name any more and is still written to, after looks in which it wasn't.
    for _ in 0..5 {
        assert_eq!(calls(&read_and_keep(&mut reader)), NONE);
    }
    held.write_all(line(6).as_bytes()).unwrap();
    assert_eq!(calls(&read_and_keep(&mut reader)), [6]);
    drop(held);
    for _ in 0..3 {
        read_and_keep(&mut reader);
    }
    assert!(reader.read().up_to.to_texts().len() <= 2, "what is over is let go");
}

#[test]
fn a_file_cut_short_is_read_from_its_beginning() {
    let home = Home::new();
    home.append(line(1) + &line(2));
    let mut reader = home.reader();
    assert_eq!(calls(&reader.read()), [1, 2]);
    File::create(home.file()).unwrap();
    home.append(line(3));
    let read = reader.read();
    assert_eq!((calls(&read), read.notes), (vec![3], vec![Note::BegunAnew]));
    // Cut, and grown past where it had been read to.
    File::create(home.file()).unwrap();
    home.append(line(4) + &line(5) + &line(6));
    let read = reader.read();
    assert_eq!((calls(&read), read.notes), (vec![4, 5, 6], vec![Note::BegunAnew]));
}

#[test]
fn a_new_file_with_an_old_ones_inode_is_read_from_its_beginning() {
    let home = Home::new();
    home.append(line(1) + &line(2));
    let before = home.reader().read().up_to;
    fs::remove_file(home.file()).unwrap();
    // The same bytes: only the birth time tells them apart. Whatever inode the file system gives, the position is made
    // to name it.
    home.append(line(1) + &line(2) + &line(3));
    let inode = format!("{:x}", fs::metadata(home.file()).unwrap().ino());
    let text = before.to_texts().remove(0);
    let parts: Vec<&str> = text.split('.').collect();
    let reused = [parts[0], &inode, parts[2], parts[3], parts[4]].join(".");
    assert_ne!(parts[2], "0", "the file system here keeps no birth times");
    let read = home.reader_from(&Positions::from_texts([reused.as_str()])).read();
    assert_eq!(calls(&read), [1, 2, 3]);
    // Without birth times it is the bytes before the place that differ.
    fs::write(home.file(), line(7) + &line(8) + &line(9)).unwrap();
    let born = home.reader().read().up_to.to_texts().remove(0).split('.').nth(2).unwrap().to_owned();
    let reused = [parts[0], &inode, &born, parts[3], parts[4]].join(".");
    let read = home.reader_from(&Positions::from_texts([reused.as_str()])).read();
    assert_eq!((calls(&read), read.notes), (vec![7, 8, 9], vec![Note::BegunAnew]));
}

#[test]
fn nuls_are_stepped_over_and_a_terabyte_of_them_at_once() {
    let home = Home::new();
    home.append(line(1) + "\0\0\0" + &line(2));
    let mut reader = home.reader();
    assert_eq!(calls(&reader.read()), [1, 2]);
    // A writer without O_APPEND goes on at its old offset after the file was cut.
    let file = OpenOptions::new().write(true).open(home.file()).unwrap();
    file.set_len(0).unwrap();
    file.write_all_at(line(3).as_bytes(), 1 << 40).unwrap();
    let mut read = calls(&reader.read());
    read.extend(calls(&reader.read()));
    assert_eq!(read, [3]);
    // A hole at the end, and then a line.
    file.set_len(2 << 40).unwrap();
    assert_eq!(calls(&reader.read()), NONE);
    home.append(line(4));
    let mut read = calls(&reader.read());
    read.extend(calls(&reader.read()));
    assert_eq!(read, [4]);
    // Within a line that is too long.
    home.append("{");
    file.set_len(3 << 40).unwrap();
    home.append("\n".to_owned() + &line(5));
    let looks: Vec<u64> = (0..3).flat_map(|_| calls(&reader.read())).collect();
    assert_eq!(looks, [5]);
}

#[test]
fn what_was_not_kept_is_read_again_and_what_was_kept_is_not() {
    let home = Home::new();
    home.append(line(1));
    let kept = read_and_keep(&mut home.reader()).up_to;
    // Each of these ends after reading and before its line was written.
    home.append(line(2));
    for _ in 0..3 {
        assert_eq!(calls(&home.reader_from(&again(&kept)).read()), [2]);
    }
    let mut reader = home.reader_from(&again(&kept));
    assert_eq!(calls(&reader.read()), [2]);
    home.append(line(3));
    reader.go_back();
    let read = reader.read();
    assert_eq!(calls(&read), [2, 3]);
    // This one ends after its line was written.
    assert_eq!(calls(&home.reader_from(&again(&read.up_to)).read()), NONE);
}

#[test]
fn positions_survive_the_file_moving_aside_while_nobody_watches() {
    let home = Home::new();
    home.append(line(1));
    let kept = home.reader().read().up_to;
    home.append(line(2));
    fs::rename(home.file(), home.beside(".1")).unwrap();
    home.append(line(3));
    assert_eq!(calls(&home.reader_from(&again(&kept)).read()), [2, 3]);
}

#[test]
fn a_position_is_kept_while_its_file_cannot_be_reached() {
    let home = Home::new();
    home.append(line(1));
    let kept = home.reader().read().up_to;
    let mut reader = home.reader_from(&again(&kept));
    for away in ["measures.jsonl", ""] {
        let (from, to) = (home.path().join(".lnk").join(away), home.path().join("away"));
        fs::rename(&from, &to).unwrap();
        std::os::unix::fs::symlink(&to, home.path().join(if away.is_empty() { ".lnk" } else { common::FILE })).unwrap();
        assert_eq!(reader.read().up_to, kept);
        let link = if away.is_empty() { home.path().join(".lnk") } else { home.file() };
        fs::remove_file(link).unwrap();
        fs::rename(&to, &from).unwrap();
    }
    home.append(line(2));
    assert_eq!(calls(&reader.read()), [2]);
}

#[test]
fn a_bad_line_is_refused_alone() {
    let bad: [&[u8]; 12] = [
        b"\xff\xfe",
        br#"{"x":"\ud800"}"#,
        &b"[".repeat(100_000 / 2),
        br#"{"resourceMetrics":[],"resourceMetrics":[]}"#,
        b"{\"a\0b\":1}",
        b"nothing of the sort",
        br#"{"resourceMetrics":7}"#,
        br#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"turns.sum","sum":{"dataPoints":[{"asDouble":1e309}]}}]}]}]}"#,
        br#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"turns.sum","sum":{"dataPoints":[{"asInt":18446744073709551616}]}}]}]}]}"#,
        b"}",
        b"\x1b[2J",
        b"{\"resourceMetrics\":[]",
    ];
    let home = Home::new();
    for (n, bad) in bad.iter().enumerate() {
        home.append([bad, &b"\n"[..], line(n as u64).as_bytes()].concat());
    }
    // Neither refused nor saying anything.
    home.append("\n \r\n{\"__proto__\":{\"asInt\":1}}\n");
    let read = home.reader().read();
    assert_eq!(calls(&read), (0..bad.len() as u64).collect::<Vec<_>>());
    assert_eq!((read.passed_over, read.notes), (bad.len() as u64, vec![Note::BadLine]));
}

#[test]
fn two_points_that_cannot_be_do_not_come_to_more() {
    let home = Home::new();
    let points = r#"{"asDouble":1e308},{"asDouble":1e308},{"asInt":5}"#;
    home.append(common::of_metrics(&format!(r#"{{"name":"tokens.input.sum","sum":{{"dataPoints":[{points}]}}}}"#)));
    let read = home.reader().read();
    assert_eq!(read.turns, [Turn(vec![(Measure::TokensInput, 5.0)])]);
    assert_eq!(read.notes, [Note::OutOfBounds]);
}

#[test]
fn starts_and_stops_are_read_on_and_their_file_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("times.jsonl");
    let place = Place::below(folder.path(), "times.jsonl".as_ref()).unwrap();
    let mut reader = Reader::of_times(place.clone(), &Positions::default(), 100.0);
    append(&path, "{\"t\":99.5,\"stop\":1}\n{\"t\":100.5,\"start_cold\":3.5}\n");
    let read = read_and_keep(&mut reader);
    assert_eq!(read.turns, [Turn(vec![(Measure::TimeStartCold, 3.5)])], "what happened unwatched isn't counted");
    // A clock that was set back hides nothing that is appended.
    append(&path, "{\"t\":98,\"stop\":0.5}\n{\"t\":101,\"stop\":10.5}\n{\"t\":101,\"start_warm\":2}\nx\n");
    let read = read_and_keep(&mut reader);
    assert_eq!(read.turns, [Turn(vec![(Measure::TimeStop, 0.5)]), Turn(vec![(Measure::TimeStartWarm, 2.0)])]);
    assert_eq!(read.notes, [Note::BadLine, Note::OutOfBounds]);
    let text = fs::read_to_string(&path).unwrap();
    for _ in 0..4 {
        assert!(read_and_keep(&mut reader).turns.is_empty());
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    append(&path, "{\"t\":50,\"stop\":3}\n");
    let mut next = Reader::of_times(place, &again(&read.up_to), 200.0);
    assert_eq!(next.read().turns, [Turn(vec![(Measure::TimeStop, 3.0)])], "known before, so read on");
}
