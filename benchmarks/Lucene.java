import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.FeatureField;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.QueryRescorer;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.FSDirectory;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Index documents and re-rank queries with Lucene, in processor time. Arguments: "index", documents, a new folder; or "search",
 * queries, the folder, a file for the rankings. Documents: number, title, text, term=weight ..., separated by tabs, as terms
 * separated by spaces. Queries: words, query weight, rescore weight, depth, term=boost ... Prints name=value.
 */
public class Lucene {
    static final int RUNS = 3, WARM_UPS = 3, SHOWN = 10;
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static void main(String[] arguments) throws Exception {
        List<String[]> rows = new ArrayList<>();
        try (BufferedReader input = Files.newBufferedReader(Path.of(arguments[1]), StandardCharsets.UTF_8)) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                rows.add(line.split("\t", -1));
            }
        }
        if (arguments[0].equals("index")) {
            index(rows, Path.of(arguments[2]));
        } else {
            search(rows, Path.of(arguments[2]), Path.of(arguments[3]));
        }
        System.out.println("megabytes=" + peakMegabytes());
    }

    static void index(List<String[]> rows, Path folder) throws Exception {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        double best = Double.MAX_VALUE;
        for (int run = 0; run < RUNS; run++) {
            Path place = folder.resolve(String.valueOf(run));
            long started = system.getProcessCpuTime();
            IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer()).setRAMBufferSizeMB(128);
            try (IndexWriter writer = new IndexWriter(FSDirectory.open(place), config.setMergeScheduler(new SerialMergeScheduler()))) {
                for (String[] row : rows) {
                    writer.addDocument(document(row));
                }
                writer.commit();
            }
            best = Math.min(best, (system.getProcessCpuTime() - started) / 1e9);
        }
        System.out.println("seconds=" + best);
    }

    static Document document(String[] row) {
        FieldType type = new FieldType();
        type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
        type.setStored(true);
        Document document = new Document();
        document.add(new StoredField("number", row[0]));
        document.add(new Field("title", row[1], type));
        document.add(new Field("text", row[2], type));
        for (int i = 3; i < row.length; i++) {
            int end = row[i].indexOf('=');
            document.add(new FeatureField("features", row[i].substring(0, end), Float.parseFloat(row[i].substring(end + 1))));
        }
        return document;
    }

    static void search(List<String[]> rows, Path folder, Path out) throws Exception {
        IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(FSDirectory.open(folder)));
        List<Query> matching = new ArrayList<>();
        List<QueryRescorer> rescorers = new ArrayList<>();
        for (String[] row : rows) {
            matching.add(matching(row[0].split(" ")));
            rescorers.add(rescorer(row));
        }
        double[] plain = new double[rows.size()], reranked = new double[rows.size()];
        List<String> lines = new ArrayList<>();
        for (int run = -WARM_UPS; run < RUNS; run++) {
            lines.clear();
            for (int i = 0; i < rows.size(); i++) {
                int depth = Integer.parseInt(rows.get(i)[3]);
                long started = THREADS.getCurrentThreadCpuTime();
                load(searcher, searcher.search(matching.get(i), SHOWN).scoreDocs);
                long between = THREADS.getCurrentThreadCpuTime();
                TopDocs first = searcher.search(matching.get(i), depth);
                TopDocs found = rescorers.get(i).rescore(searcher, first, depth);
                load(searcher, found.scoreDocs);
                long ended = THREADS.getCurrentThreadCpuTime();
                plain[i] = run <= 0 ? between - started : Math.min(plain[i], between - started);
                reranked[i] = run <= 0 ? ended - between : Math.min(reranked[i], ended - between);
                lines.add(numbers(searcher, first.scoreDocs) + "\t" + numbers(searcher, found.scoreDocs));
            }
        }
        Files.write(out, lines);
        System.out.println("plain=" + median(plain) + "\nreranked=" + median(reranked));
    }

    static String numbers(IndexSearcher searcher, ScoreDoc[] hits) throws Exception {
        StringBuilder found = new StringBuilder();
        for (ScoreDoc hit : hits) {
            found.append(searcher.doc(hit.doc).get("number")).append(' ');
        }
        return found.toString().trim();
    }

    static void load(IndexSearcher searcher, ScoreDoc[] hits) throws Exception {
        for (int i = 0; i < Math.min(SHOWN, hits.length); i++) {
            searcher.doc(hits[i].doc);
        }
    }

    static Query matching(String[] words) {
        BooleanQuery.Builder matching = new BooleanQuery.Builder();
        for (String word : words) {
            matching.add(new BoostQuery(new TermQuery(new Term("title", word)), 2f), BooleanClause.Occur.SHOULD);
            matching.add(new TermQuery(new Term("text", word)), BooleanClause.Occur.SHOULD);
        }
        return matching.build();
    }

    static QueryRescorer rescorer(String[] row) {
        float queryWeight = Float.parseFloat(row[1]), rescoreWeight = Float.parseFloat(row[2]);
        BooleanQuery.Builder profile = new BooleanQuery.Builder();
        for (int i = 4; i < row.length; i++) {
            int end = row[i].indexOf('=');
            Query clause = FeatureField.newLinearQuery("features", row[i].substring(0, end), 1f);
            profile.add(new BoostQuery(clause, Float.parseFloat(row[i].substring(end + 1))), BooleanClause.Occur.SHOULD);
        }
        return new QueryRescorer(profile.build()) {
            @Override
            protected float combine(float firstScore, boolean matches, float secondScore) {
                return queryWeight * firstScore + (matches ? rescoreWeight * secondScore : 0f);
            }
        };
    }

    static double median(double[] nanoseconds) {
        double[] sorted = nanoseconds.clone();
        java.util.Arrays.sort(sorted);
        return sorted[sorted.length / 2] / 1e6;
    }

    static String peakMegabytes() throws Exception {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            String line = lines.filter(each -> each.startsWith("VmHWM")).findFirst().orElseThrow();
            return String.valueOf(Long.parseLong(line.replaceAll("\\D", "")) / 1024);
        }
    }
}
