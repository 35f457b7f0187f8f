import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** What the compiler says of a program that has the package installed. */
function compiled(program: string): string {
  mkdirSync(join(root, '.tmp'), { recursive: true })
  const directory = mkdtempSync(join(root, '.tmp', 'installed-'))
  onTestFinished(() => {
    rmSync(directory, { recursive: true, force: true })
  })
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(root, join(directory, 'node_modules/sluice'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  writeFileSync(join(directory, 'program.ts'), program)
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, skipLibCheck: true }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  return spawnSync(process.execPath, [compiler], { cwd: directory, encoding: 'utf8' }).stdout
}

it('has types for those who install it', { timeout: 120_000 }, () => {
  const program = `
    import { SluiceClient } from 'sluice/client'
    const client = new SluiceClient({ baseUrl: 'http://localhost:8787', apiKey: 'sk' })
    const { data } = await client.call('listKeys')
    export const names: string[] = data.map(({ name }) => name)`
  expect(compiled(program)).toBe('')
  expect(compiled(`${program}\nexport const wrong: number = data[0]!.name`)).toContain("'string' is not assignable")
})
