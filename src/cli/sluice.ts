#!/usr/bin/env node
import { EXIT } from '../shared/core/exit-codes.ts'
import { main } from './program.ts'

// The reader of the output may close it early: sluice keys list | head -1
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const code = await main(process.argv.slice(2))
// A started gateway sets the exit code itself when it ends, or has set it already.
if (code !== EXIT.ok) process.exitCode = code
