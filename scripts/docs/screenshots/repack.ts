import { crc32, deflateSync, inflateSync } from 'node:zlib';

/** The same PNG, its pixels packed as tightly as zlib can. Browsers pack for speed. */
export function repack(png: Buffer): Buffer {
  const parts = [...chunks(png)];
  const pixels = Buffer.concat(parts.filter(({ type }) => type === 'IDAT').map(({ data }) => data));
  const packed = deflateSync(inflateSync(pixels), { level: 9, memLevel: 9 });
  const first = parts.findIndex(({ type }) => type === 'IDAT');
  const kept = parts.flatMap((part, index) => {
    if (part.type !== 'IDAT') return part.type === 'IHDR' || part.type === 'IEND' ? [part] : [];
    return index === first ? [{ type: 'IDAT', data: packed }] : [];
  });
  return Buffer.concat([png.subarray(0, SIGNATURE), ...kept.map(encode)]);
}

const SIGNATURE = 8;

interface Chunk {
  type: string;
  data: Buffer;
}

function* chunks(png: Buffer): Generator<Chunk> {
  for (let at = SIGNATURE; at < png.length; ) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += length + 12; // length, type, data, checksum
  }
}

function encode({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}
