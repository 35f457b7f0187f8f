import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { builtinModules } from 'node:module'
import ts from 'typescript'
import { expect, it } from 'vitest'

const SOURCE = new URL('../../../src/client/', import.meta.url)
/** What Node has and browsers have not. */
const OF_NODE = /\b(Buffer|process|setImmediate|require|__dirname|global)\b/

it('loads nothing but itself, and needs nothing that a browser has not', () => {
  const builtIn = new Set(builtinModules)
  for (const file of readdirSync(fileURLToPath(SOURCE)).filter((name) => name.endsWith('.ts'))) {
    const { outputText } = ts.transpileModule(readFileSync(new URL(file, SOURCE), 'utf8'), {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ES2022,
        verbatimModuleSyntax: true,
        removeComments: true,
      },
    })
    const imported = ts.preProcessFile(outputText).importedFiles.map(({ fileName }) => fileName)
    expect(imported.filter((name) => !name.startsWith('./') || builtIn.has(name))).toEqual([])
    expect(OF_NODE.exec(outputText), file).toBeNull()
  }
})
