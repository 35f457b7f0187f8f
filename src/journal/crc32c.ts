/** CRC-32C (Castagnoli, RFC 3720): the checksum of journal frames. Slicing by eight: eight table look-ups per 8 bytes. */
const TABLE = buildTable()

/** The CRC-32C of `bytes[start, end)` as an unsigned 32-bit number. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let crc = -1
  let i = start
  for (const last = end - 8; i <= last; i += 8) {
    const low = crc ^ (at(bytes, i) | (at(bytes, i + 1) << 8) | (at(bytes, i + 2) << 16) | (at(bytes, i + 3) << 24))
    crc =
      at(TABLE, 1792 + (low & 0xff)) ^
      at(TABLE, 1536 + ((low >>> 8) & 0xff)) ^
      at(TABLE, 1280 + ((low >>> 16) & 0xff)) ^
      at(TABLE, 1024 + (low >>> 24)) ^
      at(TABLE, 768 + at(bytes, i + 4)) ^
      at(TABLE, 512 + at(bytes, i + 5)) ^
      at(TABLE, 256 + at(bytes, i + 6)) ^
      at(TABLE, at(bytes, i + 7))
  }
  for (; i < end; i++) crc = (crc >>> 8) ^ at(TABLE, (crc ^ at(bytes, i)) & 0xff)
  return ~crc >>> 0
}

/** V8 inlines this; every index above is within bounds. */
function at(numbers: Uint8Array | Int32Array, index: number): number {
  return numbers[index] as number
}

/** Eight tables of 256 in one array: table k advances a byte through k further zero bytes. */
function buildTable(): Int32Array {
  const table = new Int32Array(8 * 256)
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
    table[byte] = crc
  }
  for (let i = 256; i < table.length; i++) {
    const before = at(table, i - 256)
    table[i] = (before >>> 8) ^ at(table, before & 0xff)
  }
  return table
}
