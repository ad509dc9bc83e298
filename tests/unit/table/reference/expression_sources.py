"""Expressions as programs write them; `record.py` keeps what PyFlink shows for each."""

from __future__ import annotations

_UNARY_TEXT = (
    "exp log10 log2 ln cosh sinh sin cos tan cot asin acos atan tanh degrees radians sqrt abs sign is_null "
    "is_not_null is_true is_false is_not_true is_not_false distinct sum sum0 min max count avg first_value "
    "last_value stddev_pop stddev_samp var_pop var_samp collect array_agg asc desc start end bin hex unhex "
    "char_length upper_case lower_case init_cap from_base64 to_base64 ascii chr reverse to_date to_time "
    "to_timestamp flatten cardinality element map_keys map_values map_entries rowtime proctime md5 sha1 "
    "sha224 sha256 sha384 sha512"
)
_UNARY = _UNARY_TEXT.split()
_WITHOUT_ARGUMENTS_TEXT = (
    "log list_agg trim trim_leading trim_trailing url_decode url_encode inet_aton inet_ntoa ltrim rtrim btrim "
    "str_to_map floor ceil is_json array_max array_min json_quote json_unquote truncate bitmap_and_agg "
    "bitmap_and_cardinality_agg bitmap_build bitmap_build_agg bitmap_build_cardinality_agg bitmap_cardinality "
    "bitmap_from_bytes bitmap_or_agg bitmap_or_cardinality_agg bitmap_to_array bitmap_to_bytes "
    "bitmap_to_string bitmap_xor_agg bitmap_xor_cardinality_agg"
)
_WITHOUT_ARGUMENTS = _WITHOUT_ARGUMENTS_TEXT.split()
_INTERVALS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "milli"]
_ARRAY_CALLS_TEXT = (
    "array_append(3) array_contains(3) array_distinct() array_position(3) array_prepend(3) array_remove(3) "
    "array_reverse() array_slice(1) array_slice(1,2) array_sort() array_sort(True) array_sort(False,True) "
    "array_union(b) array_concat(b) array_join('-') array_join('-','x') array_except(b) array_intersect(b)"
)
_ARRAY_CALLS = _ARRAY_CALLS_TEXT.split()

SOURCES = (
    [f"a.{name}" for name in _UNARY]
    + [f"a.{name}()" for name in _WITHOUT_ARGUMENTS]
    + [f"lit(3).{name}" for name in _INTERVALS]
    + [f"lit(3).{name}s" for name in _INTERVALS]
    + [f"a.{call}" for call in _ARRAY_CALLS]
    + [
        # Operators
        "a + b",
        "a - 1",
        "a * 2.5",
        "a / b",
        "a % 3",
        "a ** 2",
        "-a",
        "abs(a)",
        "1 + a",
        "1 - a",
        "2 * a",
        "8 / a",
        "8 % a",
        "2 ** a",
        "a == b",
        "a != 'x'",
        "a < 1",
        "a > 1",
        "a <= 1",
        "a >= 1",
        "1 == a",
        "(a > 1) & (b < 2)",
        "(a > 1) | (b < 2)",
        "~a",
        "True & a",
        "False | a",
        "a[1]",
        "a.name",
        "a.get('name')",
        "a.get(0)",
        "a.at(b)",
        # Literals
        "lit(1)",
        "lit(2147483648)",
        "lit(-1)",
        "lit(1.5)",
        "lit(True)",
        "lit('x')",
        'lit("it\'s")',
        "lit(None)",
        "lit(Decimal('1.50'))",
        "lit(b'ab')",
        "lit(date(2020, 1, 2))",
        "lit(time(1, 2, 3))",
        "lit(datetime(2020, 1, 2, 3, 4, 5))",
        "lit(1, DataTypes.BIGINT())",
        "lit('x', DataTypes.STRING())",
        "lit(None, DataTypes.INT())",
        "null_of(DataTypes.INT())",
        "a == lit(None, DataTypes.INT())",
        # Comparisons and conditions
        "a.between(1, b)",
        "a.not_between(1, 2)",
        "(a > 1).then('x', 'y')",
        "a.if_null(1)",
        "a.in_(1, 2, 3)",
        "a.in_('x')",
        "a.in_(b, 2)",
        "if_then_else(a > 1, 1, b)",
        "coalesce(a, b, 1)",
        "and_(a, b)",
        "and_(a, b, True)",
        "or_(a, b, a)",
        "not_(a)",
        "a.like('x%')",
        "a.like('x!%', '!')",
        "a.similar('x')",
        # Names, types and order
        "a.alias('x')",
        "a.alias('x', 'y', 'z')",
        "a.as_argument('x')",
        "a.cast(DataTypes.INT())",
        "a.cast(DataTypes.STRING())",
        "a.cast(DataTypes.DECIMAL(10, 2))",
        "a.cast(DataTypes.TIMESTAMP(3))",
        "a.cast(DataTypes.TIMESTAMP_LTZ(3))",
        "a.cast(DataTypes.ARRAY(DataTypes.BIGINT()))",
        "a.cast(DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()))",
        "a.cast(DataTypes.ROW([DataTypes.FIELD('x', DataTypes.INT())]))",
        "a.cast(DataTypes.INT(False))",
        "a.try_cast(DataTypes.INT())",
        "a.count.distinct",
        "a.sum.over(col('w'))",
        "a.sum.over('w')",
        "a.sum.distinct.over(col('w'))",
        "a.list_agg('-')",
        # Numbers
        "a.log(2)",
        "a.log(b)",
        "a.round(2)",
        "a.truncate(2)",
        "a.percentile(0.5)",
        "a.percentile(0.5, b)",
        "a.sha2(256)",
        "atan2(a, b)",
        "negative(a)",
        "log(a)",
        "log(a, 2)",
        "pi()",
        "e()",
        "rand()",
        "rand(1)",
        "rand_integer(10)",
        "rand_integer(10, 3)",
        "uuid()",
        # Text
        "a.concat('x')",
        "concat(a)",
        "concat(a, 'x', b)",
        "concat_ws('-', a, b)",
        "a.starts_with('x')",
        "a.ends_with('x')",
        "a.substring(2)",
        "a.substring(2, 3)",
        "a.substr(2)",
        "a.substr(2, b)",
        "a.trim_leading('x')",
        "a.trim_trailing('x')",
        "a.trim('x')",
        "a.replace('x', 'y')",
        "a.translate('x', 'y')",
        "a.position('x')",
        "a.lpad(4, 'x')",
        "a.rpad(4, 'x')",
        "a.overlay('x', 2)",
        "a.overlay('x', 2, 3)",
        "a.regexp('x')",
        "a.regexp_count('x')",
        "a.regexp_replace('x', 'y')",
        "a.regexp_extract('x')",
        "a.regexp_extract('x', 1)",
        "a.regexp_extract_all('x')",
        "a.regexp_extract_all('x', 1)",
        "a.regexp_instr('x')",
        "a.regexp_substr('x')",
        "a.decode('UTF-8')",
        "a.encode('UTF-8')",
        "a.left(1)",
        "a.right(1)",
        "a.instr('x')",
        "a.locate('x')",
        "a.locate('x', 2)",
        "a.parse_url('HOST')",
        "a.parse_url('QUERY', 'k')",
        "a.printf(1, b)",
        "a.ltrim('x')",
        "a.rtrim('x')",
        "a.btrim('x')",
        "a.repeat(2)",
        "a.split_index(',', 1)",
        "a.str_to_map(',', '=')",
        "a.elt('x', 'y')",
        "a.split(',')",
        # Time
        "a.extract(TimeIntervalUnit.YEAR)",
        "a.floor(TimeIntervalUnit.DAY)",
        "a.ceil(TimeIntervalUnit.MONTH)",
        "lit('2020-01-01').to_date",
        "current_database()",
        "current_date()",
        "current_time()",
        "current_timestamp()",
        "current_watermark(a)",
        "current_watermark('a')",
        "local_time()",
        "local_timestamp()",
        "to_date(a)",
        "to_date('x', 'yyyy')",
        "to_timestamp(a)",
        "to_timestamp('x', 'yyyy')",
        "to_timestamp_ltz(a)",
        "to_timestamp_ltz(a, 3)",
        "to_timestamp_ltz('x', 'yyyy', 'UTC')",
        "temporal_overlaps(a, lit(1).hour, b, lit(2).hours)",
        "date_format(a, 'yyyy')",
        "timestamp_diff(TimePointUnit.DAY, a, b)",
        "convert_tz('x', 'UTC', 'CET')",
        "from_unixtime(a)",
        "from_unixtime(a, 'yyyy')",
        "unix_timestamp()",
        "unix_timestamp(a)",
        "unix_timestamp(a, 'yyyy')",
        "source_watermark()",
        "a - lit(5).seconds",
        "a + lit(2).months",
        "a.year",
        # Collections
        "array(1, 2, a)",
        "row(1, 'x', a)",
        "map_('k', 1, 'l', a)",
        "map_from_arrays(a, b)",
        "a.map_union(b)",
        "object_of('com.Some', 'x', 1)",
        "a.object_update('x', 1)",
        "descriptor('x', 'y')",
        # Columns
        "range_('x', 'y')",
        "range_(1, 3)",
        "with_all_columns()",
        "with_columns(a)",
        "with_columns(range_('x', 'y'), b)",
        "without_columns(a, b)",
        "col('*')",
        "col('x.y')",
        # Windows
        "UNBOUNDED_ROW",
        "UNBOUNDED_RANGE",
        "CURRENT_ROW",
        "CURRENT_RANGE",
        "row_interval(10)",
        "lag(a)",
        "lag(a, 2)",
        "lag(a, 2, 0)",
        "lead(a)",
        "lead(a, 2, 0)",
        # JSON
        "a.is_json(JsonType.SCALAR)",
        "a.json_exists('$.x')",
        "a.json_exists('$.x', JsonExistsOnError.UNKNOWN)",
        "a.json_value('$.x')",
        "a.json_value('$.x', DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 1, JsonValueOnEmptyOrError.ERROR)",
        "a.json_query('$.x')",
        "a.json_query('$.x', JsonQueryWrapper.CONDITIONAL_ARRAY, JsonQueryOnEmptyOrError.EMPTY_ARRAY)",
        "json(a)",
        "json_string(a)",
        "json_object()",
        "json_object(JsonOnNull.ABSENT, 'k', a)",
        "json_object_agg(JsonOnNull.NULL, a, b)",
        "json_array()",
        "json_array(JsonOnNull.NULL, 1, a)",
        "json_array_agg(JsonOnNull.ABSENT, a)",
        # Bitmaps
        "a.bitmap_and(b)",
        "a.bitmap_andnot(b)",
        "a.bitmap_or(b)",
        "a.bitmap_xor(b)",
        # Calls
        "call('myFunction', a, 1)",
        "call('cat.db.f', a)",
        "call('f', lit(1).as_argument('x'))",
        "call_sql('a + 1')",
        "call(add, a, 1)",
        "add(a, b).alias('c')",
    ]
)

SCHEMAS = {
    "columns": (
        "Schema.new_builder().column('id', DataTypes.INT().not_null()).column('name', 'STRING')"
        ".column_by_expression('c', 'id + 1').column_by_expression('d', col('id') + 1)"
        ".column_by_metadata('ts', DataTypes.TIMESTAMP(3), 'timestamp', True)"
        ".column_by_metadata('m', 'BIGINT').watermark('ts', \"ts - INTERVAL '5' SECOND\").primary_key('id').build()"
    ),
    "fields": "Schema.new_builder().from_fields(['a', 'b'], [DataTypes.INT(), DataTypes.STRING()]).build()",
    "row": (
        "Schema.new_builder().from_row_data_type(DataTypes.ROW([DataTypes.FIELD('a', DataTypes.DECIMAL(10, 2)), "
        "DataTypes.FIELD('b', DataTypes.TIMESTAMP_LTZ(3))])).primary_key_named('pk', 'a', 'b').build()"
    ),
    "copied": (
        "Schema.new_builder().from_schema(Schema.new_builder().column('a', 'INT').build())"
        ".watermark('a', col('a') - lit(5).seconds).build()"
    ),
    "empty": "Schema.new_builder().build()",
    "descriptor": (
        "TableDescriptor.for_connector('kafka').schema(Schema.new_builder().column('a', 'INT').build())"
        ".option('topic', 't').option('n', '5').format('json').partitioned_by('a').comment('it is').build()"
    ),
    "descriptor with format": (
        "TableDescriptor.for_connector('filesystem').option('path', '/tmp')"
        ".format(FormatDescriptor.for_format('csv').option('field-delimiter', '|').build()).build()"
    ),
    "descriptor with key format": (
        "TableDescriptor.for_connector('kafka').format(FormatDescriptor.for_format('json')"
        ".option('ignore-parse-errors', 'true').build(), "
        "ConfigOptions.key('key.format').string_type().no_default_value()).build()"
    ),
    "format": "FormatDescriptor.for_format('csv').option('a', 'b').build()",
    "table schema": ("TableSchema(['a', 'b'], [DataTypes.INT(), DataTypes.STRING()])"),
    "path": "ObjectPath('db', 'tab')",
    "path from text": "ObjectPath.from_string('db.tab')",
    "bad path": "ObjectPath.from_string('tab')",
    "partition": "CatalogPartitionSpec({'a': '1', 'b': 'x'})",
    "identifier": "ObjectIdentifier.of('c', 'd', 'o')",
    "identifier serialized": "ObjectIdentifier.of('c', 'd', 'o`x').as_serializable_string()",
    "identifier list": "list(ObjectIdentifier.of('c', 'd', 'o').to_list())",
    "resolved schema": "ResolvedSchema.physical(['a', 'b'], [DataTypes.INT(), DataTypes.STRING().not_null()])",
    "resolved schema of columns": (
        "ResolvedSchema([Column.physical('a', DataTypes.INT().not_null()), "
        "Column.metadata('m', DataTypes.BIGINT(), 'offset', True), "
        "Column.metadata('n', DataTypes.BIGINT(), None, False)], [], UniqueConstraint.primary_key('pk', ['a']))"
    ),
    "column": "Column.physical('a', DataTypes.INT())",
    "column summary": "Column.physical('a', DataTypes.INT()).as_summary_string()",
    "metadata column": "Column.metadata('m', DataTypes.BIGINT(), 'offset', True)",
    "metadata extras": "Column.metadata('m', DataTypes.BIGINT(), 'offset', True).explain_extras()",
    "metadata extras without key": "Column.metadata('m', DataTypes.BIGINT(), None, False).explain_extras()",
    "constraint": "UniqueConstraint.primary_key('pk', ['a', 'b']).as_summary_string()",
    "settings": (
        "(lambda s: [s.get_built_in_catalog_name(), s.get_built_in_database_name(), s.is_streaming_mode(), "
        "s.get_configuration().to_dict()])(EnvironmentSettings.in_batch_mode())"
    ),
    "settings of streaming": (
        "(lambda s: [s.get_built_in_catalog_name(), s.get_built_in_database_name(), s.is_streaming_mode(), "
        "sorted(s.get_configuration().to_dict().items())])(EnvironmentSettings.new_instance()"
        ".with_built_in_catalog_name('c').with_built_in_database_name('d').build())"
    ),
    "config": (
        "(lambda c: [c.get_local_timezone() != '', c.get_max_generated_code_length(), c.get_idle_state_retention(), "
        "c.get_sql_dialect(), c.get('table.exec.state.ttl', 'none'), sorted(c.get_configuration().to_dict().items())])"
        "(TableConfig.get_default())"
    ),
    "config set": (
        "(lambda c: [c.set_local_timezone('Asia/Shanghai'), c.set_idle_state_retention(timedelta(hours=1)), "
        "c.set_max_generated_code_length(5), c.set_sql_dialect(SqlDialect.HIVE), c.set_python_executable('py'), "
        "sorted(c.get_configuration().to_dict().items())][-1])(TableConfig.get_default())"
    ),
    "bad timezone": "TableConfig.get_default().set_local_timezone('Mars')",
    "short timezone": "TableConfig.get_default().set_local_timezone('UTC+8')",
    "module entry": "ModuleEntry('core', True)",
    "catalog function": (
        "(lambda f: [f.get_class_name(), f.get_description(), f.get_detailed_description(), "
        "str(f.get_function_language()), f.get_options()])(CatalogFunction.create_instance('m.f', 'Python'))"
    ),
    "catalog database": (
        "(lambda d: [d.get_properties(), d.get_comment(), d.get_description(), d.get_detailed_description()])"
        "(CatalogDatabase.create_instance({'k': 'v'}, 'text'))"
    ),
    "catalog table": (
        "(lambda t: [t.get_options(), t.get_comment(), t.get_description(), t.get_detailed_description(), "
        "str(t.get_unresolved_schema())])(CatalogBaseTable.create_table(TableSchema(['a'], [DataTypes.INT()]), "
        "['a'], {'connector': 'x'}, 'text'))"
    ),
    "catalog view": (
        "(lambda t: [t.get_options(), t.get_comment(), t.get_description(), t.get_detailed_description(), "
        "str(t.get_unresolved_schema())])(CatalogBaseTable.create_view('SELECT 1', 'SELECT 1', "
        "TableSchema(['a'], [DataTypes.INT()]), {}, 'text'))"
    ),
    "catalog partition": (
        "(lambda d: [d.get_properties(), d.get_comment(), d.get_description(), d.get_detailed_description()])"
        "(CatalogPartition.create_instance({'k': 'v'}, 'text'))"
    ),
}
