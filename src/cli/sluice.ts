#!/usr/bin/env node
import { EXIT } from '../shared/core/exit-codes.ts'
import { main } from './program.ts'

// Who reads may have seen enough: sluice keys list | head -1
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const code = await main(process.argv.slice(2))
// A gateway that was started sets its own when it ends, or has done so by now.
if (code !== EXIT.ok) process.exitCode = code
