import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

interface Entry {
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly hasInstallScript?: boolean
  readonly resolved?: string
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, Entry>>
}
const production = Object.entries(lock.packages).filter(
  ([place, { dev, devOptional }]) => place !== '' && dev !== true && devOptional !== true,
)

it('has no production dependency that runs a script when it is installed', () => {
  expect(production.length).toBeGreaterThan(40)
  expect(production.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([place]) => place)).toEqual([])
})

it('names no registry: whoever installs has their own', () => {
  expect(Object.values(lock.packages).flatMap(({ resolved }) => resolved ?? [])).toEqual([])
})

it('brings no Node along', () => {
  expect(production.map(([place]) => place).filter((place) => /\/node(-|$)/.test(place))).toEqual([])
})
