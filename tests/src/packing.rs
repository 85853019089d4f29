//! Packages written byte by byte, right ones and others: zip, tar, ar, and the streams that they are compressed to.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::io::Write as _;

/// A member of a zip archive. Fields that are `None` are what they should be.
#[derive(Clone, Debug, Default)]
pub struct ZipMember {
    /// Its name.
    pub name: Vec<u8>,
    /// Its content, unpacked.
    pub content: Vec<u8>,
    /// 0 stored, 8 deflate, 12 bzip2, 93 zstd, 95 xz; others are stored under that number.
    pub method: u16,
    /// Bit 0: encrypted.
    pub flags: u16,
    /// Type and permissions of Unix.
    pub mode: Option<u32>,
    /// The size in the directory.
    pub size: Option<u64>,
    /// The checksum in the directory.
    pub crc: Option<u32>,
    /// The offset in the directory.
    pub offset: Option<u32>,
    /// The sizes stand in the extra field of zip64.
    pub is_zip64: bool,
}

impl ZipMember {
    /// A member with this content, compressed by deflate.
    #[must_use]
    pub fn new(name: &str, content: &[u8]) -> Self {
        Self {
            name: name.into(),
            content: content.to_vec(),
            method: 8,
            ..Self::default()
        }
    }

    fn packed(&self) -> Vec<u8> {
        match self.method {
            8 => {
                let mut encoder =
                    flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(&self.content).unwrap();
                encoder.finish().unwrap()
            }
            12 => bzip2(&self.content),
            93 => zstd(&self.content),
            95 => xz(&self.content),
            _ => self.content.clone(),
        }
    }
}

/// A zip archive.
#[must_use]
pub fn zip(members: &[ZipMember]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for member in members {
        let packed = member.packed();
        let offset = member.offset.unwrap_or(file.len() as u32);
        let crc = member.crc.unwrap_or_else(|| crc(&member.content));
        let size = member.size.unwrap_or(member.content.len() as u64);
        let mut extra = Vec::new();
        let mut sizes = [packed.len() as u32, size.min(u64::from(u32::MAX)) as u32];
        if member.is_zip64 || size >= u64::from(u32::MAX) {
            sizes = [u32::MAX; 2];
            extra.extend([1, 0, 16, 0]);
            extra.extend(size.to_le_bytes());
            extra.extend((packed.len() as u64).to_le_bytes());
        }
        let common = |bytes: &mut Vec<u8>| {
            for number in [45, member.flags, member.method, 0, 0x21] {
                bytes.extend(u16::to_le_bytes(number));
            }
            bytes.extend(crc.to_le_bytes());
            bytes.extend(sizes[0].to_le_bytes());
            bytes.extend(sizes[1].to_le_bytes());
            bytes.extend((member.name.len() as u16).to_le_bytes());
            bytes.extend((extra.len() as u16).to_le_bytes());
        };
        file.extend(b"PK\x03\x04");
        common(&mut file);
        file.extend(&member.name);
        file.extend(&extra);
        file.extend(packed);
        directory.extend(b"PK\x01\x02");
        // Made on Unix.
        directory.extend(u16::to_le_bytes(3 << 8 | 45));
        common(&mut directory);
        directory.extend([0; 6]);
        let mode = member.mode.unwrap_or(0o100_644);
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&member.name);
        directory.extend(&extra);
    }
    let start = file.len() as u32;
    let count = members.len() as u16;
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A tar archive, built header by header.
#[derive(Clone, Debug, Default)]
pub struct Tar(Vec<u8>);

impl Tar {
    /// With a file.
    #[must_use]
    pub fn file(self, name: &str, content: &[u8]) -> Self {
        self.member(name, b'0', "", content.len() as u64, content)
    }

    /// With a member of this type, whose header says that it has `size` bytes.
    #[must_use]
    pub fn member(mut self, name: &str, kind: u8, link: &str, size: u64, content: &[u8]) -> Self {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[108..115].copy_from_slice(b"0000000");
        header[116..123].copy_from_slice(b"0000000");
        header[124..135].copy_from_slice(format!("{:011o}", size & 0o77_777_777_777).as_bytes());
        header[136..147].copy_from_slice(b"00000000000");
        header[156] = kind;
        header[157..157 + link.len()].copy_from_slice(link.as_bytes());
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        self.0.extend(header);
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// With a file whose name stands in a member of its own, as GNU tar writes long ones.
    #[must_use]
    pub fn long_name(self, name: &str, content: &[u8]) -> Self {
        let text = [name.as_bytes(), b"\0"].concat();
        self.member("././@LongLink", b'L', "", text.len() as u64, &text)
            .file(name.get(..90).unwrap_or(name), content)
    }

    /// With a file whose extended header of pax has these fields.
    #[must_use]
    pub fn extended(self, fields: &[(&str, &str)], name: &str, content: &[u8]) -> Self {
        let text: String = fields.iter().map(|(key, value)| record(key, value)).collect();
        self.member("PaxHeaders/x", b'x', "", text.len() as u64, text.as_bytes())
            .file(name, content)
    }

    /// The archive, with the blocks that end it.
    #[must_use]
    pub fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }

    /// The bytes so far.
    #[must_use]
    pub fn unfinished(self) -> Vec<u8> {
        self.0
    }
}

/// A record of an extended header: its length counts itself.
fn record(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len() + 1;
    while length != rest.len() + length.to_string().len() {
        length += 1;
    }
    format!("{length}{rest}")
}

/// A Debian package with this archive of its files, whose name ends so.
#[must_use]
pub fn deb(ending: &str, data: &[u8]) -> Vec<u8> {
    let control = gzip(&Tar::default().file("./control", b"Package: a\n").end());
    let data_name = format!("data.tar{ending}");
    let mut file = b"!<arch>\n".to_vec();
    for (name, content) in [
        ("debian-binary", &b"2.0\n"[..]),
        ("control.tar.gz", &control),
        (&data_name, data),
    ] {
        file.extend(
            format!(
                "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
                0,
                0,
                0,
                100_644,
                content.len()
            )
            .as_bytes(),
        );
        file.extend(content);
        file.resize(file.len().next_multiple_of(2), b'\n');
    }
    file
}

/// A conda package of version 2 with this archive of its files, as zstd.
#[must_use]
pub fn conda(files: &[u8]) -> Vec<u8> {
    let info = zstd(&Tar::default().file("info/index.json", b"{}").end());
    let stored = |name: &str, content: &[u8]| ZipMember {
        method: 0,
        ..ZipMember::new(name, content)
    };
    zip(&[
        stored("metadata.json", b"{\"conda_pkg_format_version\": 2}"),
        stored("pkg-a-1.0-0.tar.zst", &zstd(files)),
        stored("info-a-1.0-0.tar.zst", &info),
    ])
}

/// A stream of gzip.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A stream of xz.
#[must_use]
pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A frame of zstd.
#[must_use]
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 3).unwrap()
}

/// A stream of bzip2.
#[must_use]
pub fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
