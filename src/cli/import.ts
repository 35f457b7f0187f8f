import type { Command } from 'commander'
import { ConfigError, UsageError } from '../shared/config/config-error.ts'
import { readDocument } from '../shared/config/document.ts'
import { isObject } from '../shared/config/is-object.ts'
import type { CommandContext } from './command.ts'
import { Remarks } from './import/draft.ts'
import { checkTarget, writeImport } from './import/write.ts'
import type { WriteOptions } from './import/write.ts'

/** Commands that write a configuration file from the settings of another gateway. */
export function addImport(program: Command, context: CommandContext): void {
  const imports = program
    .command('import')
    .description('write a configuration file from the settings of another gateway')
  importCommand(imports, 'litellm <config.yaml>', "from the configuration file of LiteLLM's proxy").action(
    async (file: string, target: WriteOptions) => {
      checkTarget(target)
      const { fromLiteLlm } = await import('./import/litellm/litellm.ts')
      const remarks = new Remarks()
      const { value } = documentOf(file)
      if (!isObject(value) || !Array.isArray(value['model_list'])) {
        throw new UsageError(`${file} has no model_list: it is no configuration of LiteLLM's proxy`)
      }
      writeImport(fromLiteLlm(value, remarks), { remarks, from: file, target }, context)
    },
  )
  importCommand(
    imports,
    'new-api <database>',
    'from a database of new-api: a file of SQLite, an SQL dump, or a Postgres by its address',
  ).action(async (address: string, target: WriteOptions) => {
    checkTarget(target)
    const { readSource } = await import('./import/new-api/source.ts')
    const { fromNewApi } = await import('./import/new-api/new-api.ts')
    const remarks = new Remarks()
    const source = await readSource(address)
    writeImport(fromNewApi(source, Date.now(), remarks), { remarks, from: source.from, target }, context)
  })
}

function importCommand(parent: Command, nameAndArguments: string, description: string): Command {
  return parent
    .command(nameAndArguments)
    .description(description)
    .option('--output <file>', 'the file to write', 'sluice.yaml')
    .option('--force', 'replace the file')
    .option('--json', 'print the result as JSON')
    .allowExcessArguments(false)
}

function documentOf(file: string): ReturnType<typeof readDocument> {
  try {
    return readDocument(file, file)
  } catch (cause) {
    // A file that cannot be read is a mistake in the command.
    throw cause instanceof ConfigError ? new UsageError(cause.message) : cause
  }
}
