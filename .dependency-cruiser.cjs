// The arrows of docs/architecture.md: what is not allowed here is not allowed there.
const only = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { pathNot: [...to, '^node_modules/'], path: '^(src|workflows|activities|test|scripts)/' },
});

const noNpm = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { dependencyTypes: ['npm', 'npm-dev', 'npm-no-pkg', 'core'], pathNot: allowed },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'product-not-to-tests',
      severity: 'error',
      from: { path: '^(src|workflows|activities)/' },
      to: { path: '^(test|scripts)/' },
    },
    only(
      'domain-is-alone',
      '^src/domain/',
      ['^src/domain/'],
      'Pure: the only src code that the workflow sandbox loads.',
    ),
    noNpm('domain-is-pure', '^src/domain/', [], 'No package and nothing of Node.'),
    {
      name: 'workflows-are-sandboxed',
      comment: 'Types of activities are erased; everything else is domain code or the SDK.',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        dependencyTypesNot: ['type-only'],
        pathNot: ['^workflows/', '^src/domain/', '^node_modules/@temporalio/(workflow|common)/'],
      },
    },
    only('api-stands-on-domain', '^src/api/', ['^src/api/', '^src/domain/'], 'The public API knows no machinery.'),
    only(
      'config-stands-alone',
      '^src/config/',
      ['^src/config/', '^src/errors\\.ts$', '^src/domain/'],
      'Plain values out.',
    ),
    only('errors-know-nothing', '^src/errors\\.ts$', [], 'Imported by all.'),
    only(
      'db-knows-no-business',
      '^src/db/',
      ['^src/db/', '^src/errors\\.ts$', '^src/package-root\\.ts$', '^src/observability/'],
      'Connections, transactions, migrations.',
    ),
    only(
      'sources-are-pure',
      '^src/sources/',
      ['^src/sources/', '^src/domain/', '^src/errors\\.ts$'],
      'Who sent this, and is it really them: no database, no Express.',
    ),
    only(
      'inbox-owns-its-tables',
      '^src/inbox/',
      ['^src/inbox/', '^src/db/', '^src/domain/', '^src/errors\\.ts$', '^src/observability/'],
      'One statement a file.',
    ),
    only(
      'operations-own-their-table',
      '^src/operations/',
      [
        '^src/operations/',
        '^src/db/',
        '^src/domain/',
        '^src/api/',
        '^src/errors\\.ts$',
        '^src/sha256\\.ts$',
        '^src/observability/',
      ],
      'Plan, begin, record, claim.',
    ),
    only(
      'handlers-are-users',
      '^src/handlers/',
      ['^src/handlers/', '^src/api/', '^src/domain/orders/'],
      'Written like a user would; the orders set has its pure decisions in the domain, where nothing but the case and the fact can reach them.',
    ),
    {
      name: 'effects-are-users',
      severity: 'error',
      from: { path: '^src/providers/(email|mail|smtp|http)' },
      to: { path: '^src/', pathNot: ['^src/providers/', '^src/api/', '^src/errors\\.ts$'] },
    },
    {
      name: 'express-stays-in-http',
      severity: 'error',
      from: { path: '^(src|workflows|activities)/', pathNot: ['^src/http/', '^src/receiver\\.ts$', '^src/embed/'] },
      to: { path: '^node_modules/express/' },
    },
    {
      name: 'http-knows-no-temporal',
      comment: 'Receiving depends on PostgreSQL alone.',
      severity: 'error',
      from: { path: '^src/(http|sources|inbox)/' },
      to: { path: ['^node_modules/@temporalio/', '^src/temporal/', '^activities/', '^workflows/'] },
    },
    {
      name: 'main-and-dev-are-the-top',
      severity: 'error',
      from: { path: '^(src|workflows|activities)/', pathNot: ['^src/(main|dev)/'] },
      to: { path: '^src/(main|dev)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    exclude: { path: '^(dist|test/fixtures)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
