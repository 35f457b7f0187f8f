import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { hashPassword } from '../../../src/control/management/passwords.ts'
import { weaknessOf } from '../../../src/control/management/weak-passwords.ts'

const PHONE = '+12025550123'
const lines = readFileSync(new URL('../../../config/common-passwords.txt', import.meta.url), 'utf8').split('\n')
const list = lines.filter((line) => line !== '' && !line.startsWith('#'))

it('refuses the commonest passwords, more than a thousand of them, in capitals too', () => {
  expect(list.length).toBeGreaterThan(2_000)
  expect(list.filter((password) => password.length >= 10).length).toBeGreaterThan(1_000)
  for (const password of list) {
    expect(weaknessOf(password, PHONE)).toBe('is one of the most common passwords')
    expect(weaknessOf(password.toUpperCase(), PHONE)).toBe('is one of the most common passwords')
  }
  expect(lines.find((line) => line.startsWith('#'))).toContain('@zxcvbn-ts/language-common')
  expect(lines.some((line) => line.includes('Permission is hereby granted'))).toBe(true)
})

it.each(['+12025550123', '12025550123', '2025550123', '0012025550123', '(202) 555-0123', '+1 202.555.0123', '5550123'])(
  'refuses the phone number itself, written as %s',
  (password) => {
    expect(weaknessOf(password, PHONE)).toBe('is the phone number')
  },
)

it.each(['2025550124', 'a password of his', '+12025550123x', '0123', 'correct horse battery'])(
  'takes %s',
  (password) => {
    expect(weaknessOf(password, PHONE)).toBeNull()
  },
)

it('hashes none of them', async () => {
  const refused = { code: 'INVALID_FIELD', param: '/password' }
  await expect(hashPassword('Password123', { phone: PHONE })).rejects.toMatchObject(refused)
  await expect(hashPassword('2025550123', { phone: PHONE })).rejects.toMatchObject(refused)
})
