//! Streams of gzip, xz, zstd and bzip2.

use std::io::{self, BufReader, Read};

use crate::limits::{MAX_XZ_KIB, MAX_ZSTD_WINDOW_LOG, STEP_BYTES};
use crate::source::Source;

/// The compression of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// gzip, of one or more members.
    Gzip,
    /// xz, of one or more streams.
    Xz,
    /// zstd, of one or more frames.
    Zstd,
    /// bzip2, of one or more streams.
    Bzip2,
}

impl Compression {
    /// The compression of a stream that begins so.
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        const MAGIC: [(&[u8], Compression); 4] = [
            (b"\x1f\x8b\x08", Compression::Gzip),
            (b"\xfd7zXZ\0", Compression::Xz),
            (b"\x28\xb5\x2f\xfd", Compression::Zstd),
            (b"BZh", Compression::Bzip2),
        ];
        let found = MAGIC.into_iter().find(|(magic, _)| start.starts_with(magic));
        found.map(|(_, compression)| compression)
    }

    /// A reader of what a stream unpacks to.
    pub(crate) fn reader<'a>(self, packed: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        let packed = BufReader::with_capacity(STEP_BYTES, packed);
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Self::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, MAX_XZ_KIB)),
            Self::Zstd => Box::new(zstd_reader(packed)?),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(packed)),
        })
    }

    /// The first bytes that a stream unpacks to, at most `count`.
    pub(crate) fn start(self, source: &Source, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Ok(reader) = self.reader(source.reader()) {
            // The bytes before an error count.
            let _ = reader.take(count as u64).read_to_end(&mut bytes);
        }
        bytes
    }
}

/// A decoder of zstd that takes no window above the limit.
pub(crate) fn zstd_reader<'a, R: io::BufRead + 'a>(
    packed: R,
) -> io::Result<zstd::stream::read::Decoder<'a, R>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
    decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
    Ok(decoder)
}
