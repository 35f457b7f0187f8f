import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const FOLDER = new URL('../../../src/console/words/', import.meta.url)
/** English has a form for one thing, Chinese has not. */
const PLURAL = /_(one|other)$/

type Words = { readonly [name: string]: string | Words }

function read(language: string, room: string): ReadonlyMap<string, string> {
  const words = JSON.parse(readFileSync(new URL(`${language}/${room}`, FOLDER), 'utf8')) as Words
  return new Map(flat('', words))
}

function flat(path: string, words: Words): Array<[string, string]> {
  return Object.entries(words).flatMap(([name, value]): Array<[string, string]> => {
    const at = path === '' ? name : `${path}.${name}`
    return typeof value === 'string' ? [[at, value]] : flat(at, value)
  })
}

const names = (words: ReadonlyMap<string, string>): string[] =>
  [...new Set([...words.keys()].map((name) => name.replace(PLURAL, '')))].sort()

const rooms = readdirSync(new URL('en/', FOLDER))

it('has the same rooms in every language', () => {
  expect(readdirSync(new URL('zh/', FOLDER))).toEqual(rooms)
})

it.each(rooms)('has every text of %s in both languages, with the same values in it', (room) => {
  const [english, chinese] = [read('en', room), read('zh', room)]
  expect(names(chinese)).toEqual(names(english))
  for (const [name, text] of chinese) {
    expect(text.trim(), name).not.toBe('')
    expect(valuesIn(text), name).toEqual(valuesIn(english.get(name) ?? ''))
  }
})

it('says nothing that the words of the design rule out', () => {
  for (const room of rooms) {
    for (const [name, text] of read('en', room)) expect(text, name).not.toMatch(/!|please|successfully|oops/i)
  }
})

function valuesIn(text: string): string[] {
  return [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name ?? '').sort()
}
