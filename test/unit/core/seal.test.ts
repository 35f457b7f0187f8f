import { expect, it } from 'vitest'
import { Seal } from '../../../src/shared/runtime/seal.ts'

const SECRET = Buffer.alloc(32, 1)
const text = Buffer.from('sk-secret')
const row = Buffer.from('row 1')

it('opens what it sealed, and never seals alike twice', () => {
  const seal = new Seal(SECRET, 'tests')

  const [first, second] = [seal.seal(text, row), seal.seal(text, row)]

  expect(first.equals(second)).toBe(false)
  expect(first.includes(text)).toBe(false)
  expect(seal.open(first, row)).toEqual(text)
  expect(new Seal(SECRET, 'tests').open(second, row)).toEqual(text)
  expect(seal.open(seal.seal(Buffer.alloc(0)))).toEqual(Buffer.alloc(0))
})

it('opens nothing for another context, purpose or secret', () => {
  const sealed = new Seal(SECRET, 'tests').seal(text, row)

  expect(new Seal(SECRET, 'tests').open(sealed, Buffer.from('row 2'))).toBeNull()
  expect(new Seal(SECRET, 'tests').open(sealed)).toBeNull()
  expect(new Seal(SECRET, 'else').open(sealed, row)).toBeNull()
  expect(new Seal(Buffer.alloc(32, 2), 'tests').open(sealed, row)).toBeNull()
})

it('opens nothing that was changed, cut or is something else', () => {
  const seal = new Seal(SECRET, 'tests')
  const sealed = seal.seal(text)
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    expect(seal.open(changed)).toBeNull()
    expect(seal.open(sealed.subarray(0, at))).toBeNull()
  }
  expect(seal.open(Buffer.from('something of no seal, and rather long'))).toBeNull()
})
